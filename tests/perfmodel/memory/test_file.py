"""Tests of perfmodel.memory.file."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.memory.file import load_memory, load_tier
from tests.written import written

NODES = {
    "memory-type": "PER_NODE_MEMORY_EXPANSION",
    "remote-mem-latency": 7,
    "remote-mem-bw": 2.5,
    "num-nodes": 2,
    "num-npus-per-node": 4,
}


def test_file_says_who_waits_for_whom(tmp_path: Path) -> None:
    found = load_memory(written(tmp_path / "mem.json", NODES))
    assert (found.remote_mem_latency, found.remote_mem_bw) == (7, 2.5)
    found.check_npus(8, "mem.json")
    none = load_memory(written(tmp_path / "mem.json", {"memory-type": "NO_MEMORY_EXPANSION"}))
    assert not none.per_node


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"memory-type": "DISK"},
            "memory-type: must be one of the 5 .* 'fred schema astra-memory' .*, not 'DISK'",
        ),
        ({"memory-type": None}, "memory-type: is required and was not given"),
        ({"remote-mem-bw": 0}, "remote-mem-bw: must be a number from 1e-09 .*, not 0"),
        ({"remote-mem-bw": None}, "remote-mem-bw: is required with PER_NODE_MEM.* not given"),
        ({"num-nodes": None}, "num-nodes: is required with PER_NODE_MEM.* was not given"),
        ({"num-npus-per-node": 0}, "num-npus-per-node: must be an integer from 1 .*, not 0"),
        ({"remote-mem-latency": -1}, "remote-mem-latency: must be an integer from 0 .*, not -1"),
        ({"latency": 1}, "latency: unknown key; allowed are memory-type, remote-mem-latency, .*"),
    ],
)
def test_bad_file_is_refused(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    data = {key: value for key, value in (NODES | changes).items() if value is not None}
    with pytest.raises(InputError, match=rf"mem\.json: {line}$"):
        load_memory(written(tmp_path / "mem.json", data))


def test_nodes_have_all_npus(tmp_path: Path) -> None:
    found = load_memory(written(tmp_path / "mem.json", NODES))
    line = "m: num-nodes: must be enough for the 9 NPUs of the .* num-npus-per-node 4, not 2"
    with pytest.raises(InputError, match=f"^{line}$"):
        found.check_npus(9, "m")


POOL = {
    "memory-type": "HIERARCHICAL_MEMORY_POOL",
    "remote-mem-bw": 100,
    "num-remote-mem-groups": 256,
    "num-out-node-switches": 4,
    "out-node-bw": 256,
    "in-node-bw": 256,
    "num-nodes": 5,
    "num-npus-per-node": 4,
    "piece-size": 1024,
}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        *(
            ({**POOL, key: None}, f"{key}: is required with HIERARCHICAL_M.* was not given")
            for key in POOL
            if key != "memory-type"
        ),
        ({**POOL, "piece-size": 0}, "piece-size: must be an integer from 1 .*, not 0"),
        ({**POOL, "in-node-bw": -1}, "in-node-bw: must be a number from 1e-09 .*, not -1"),
        ({**NODES, "in-node-bw": 5}, "in-node-bw: must be left out with PER_NODE_M.*, not 5.0"),
        (
            {**NODES, "in-switch-collectives": 1},
            "in-switch-collectives: must be left out with PER_NODE_M.*, not 1",
        ),
        ({**POOL, "num-nodes": 4}, "num-nodes: must be enough for the 20 NPUs .* 4, not 4"),
        (
            {"memory-type": "NO_MEMORY_EXPANSION"},
            "memory-type: must be a kind of memory, not NO_MEMORY_EXPANSION",
        ),
    ],
)
def test_bad_pool_is_refused(data: dict[str, Any], line: str, tmp_path: Path) -> None:
    given = {key: value for key, value in data.items() if value is not None}
    with pytest.raises(InputError, match=rf"mem\.json: {line}$"):
        load_tier(written(tmp_path / "mem.json", given), 20)
