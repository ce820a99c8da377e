"""Tests of studies.study.traces."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from studies.study.point import evaluate
from studies.study.run import run_study
from studies.study.store import open_store
from tests.tracemodel.astra.engine.nodes import collective, compute
from tests.written import written
from tracemodel.chakra.files import write

from .engines import Inline
from .studies import planned

SPACE: dict[str, Any] = {
    "traces": ["one", "two"],
    "network": ["net.yaml", "mesh:2x1", "mesh:3x1"],
    "system": "sys.yaml",
    "network_model": ["fluid", "unaware"],
}
KEYS: dict[str, Any] = {"objectives": ["total_ns"], "baseline": "net.yaml"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Traces of 3 us of compute, and of an all-reduce of 2,000 bytes by two NPUs."""
    for rank in range(2):
        write(tmp_path / f"one.{rank}.et", [compute(1, 3)])
        write(tmp_path / f"two.{rank}.et", [collective(1, 2_000)])
    net = "{topology: [FullyConnected], npus_count: [2], bandwidth: [0.9313225746154785], "
    written(tmp_path / "net.yaml", net + "latency: [1000]}")
    written(tmp_path / "sys.yaml", "{all-reduce-implementation: [ring], endpoint-delay: 0}")
    return tmp_path


def test_all_traces_run_on_all_networks(folder: Path) -> None:
    """A byte takes 1 ns there and a message 1,000 ns more: two steps take 4,000 ns."""
    summary = run_study(planned(folder, SPACE, **KEYS), folder / "store", Inline)
    assert (summary.points, summary.failed) == (12, 4)
    rows = open_store(folder / "store").query("select * from points").to_pylist()
    found = {(row["traces"], row["network_model"], row["network"]): row for row in rows}
    for model in ("fluid", "unaware"):
        ends = [found[one, model, "net.yaml"]["total_ns"] for one in ("one", "two")]
        assert ends == [3_000, 4_000]
    other = found["one", "unaware", "mesh:2x1"]
    assert "must be a network of ASTRA-sim alone with network model unaware" in other["error"]
    speedups = {(row["traces"], row["network"]): row["speedup"] for row in summary.speedups}
    mesh = found["two", "fluid", "mesh:2x1"]["total_ns"]
    assert speedups["two", "mesh:2x1"] == 4_000 / mesh
    assert speedups["one", "mesh:2x1"] == 1.0


def test_changed_files_are_run_again(folder: Path) -> None:
    def computed() -> int:
        return run_study(planned(folder, SPACE, **KEYS), folder / "store", Inline).computed

    assert computed() == 12
    assert computed() == 0
    write(folder / "one.1.et", [compute(1, 4)])
    assert computed() == 6
    written(folder / "sys.yaml", "{all-reduce-implementation: [ring], endpoint-delay: 5}")
    assert computed() == 12


def test_files_that_files_name_are_part_of_the_inputs(folder: Path) -> None:
    written(folder / "mesh.yaml", "kind: mesh\ncolumns: 2\nrows: 1\n")
    net = "{topology: [mesh.yaml, Switch], npus_count: [2, 1], bandwidth: [null, 1], "
    written(folder / "both.yaml", net + "latency: [null, 1]}")
    space = {**SPACE, "network": "both.yaml"}
    before = set(planned(folder, space, objectives=["total_ns"]).work().numbers)
    written(folder / "mesh.yaml", "kind: mesh\ncolumns: 2\nrows: 1\nlink_bytes_per_s: 1e+9\n")
    after = set(planned(folder, space, objectives=["total_ns"]).work().numbers)
    assert len(before | after) == 8


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("other.yaml", id="file_that_names_this_one"),
        pytest.param("x" * 256, id="too_long_for_a_path"),
    ],
)
def test_files_may_have_any_texts(folder: Path, text: str) -> None:
    written(folder / "sys.yaml", f"{{all-reduce-implementation: [ring], unknown: {text}}}")
    written(folder / "other.yaml", "[sys.yaml]")
    plan = planned(folder, {**SPACE, "network": "net.yaml"}, objectives=["total_ns"])
    assert len(plan.work().numbers) == 4


NS3 = "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 {rate}00Gbps 0.001ms 0\n"


@pytest.mark.parametrize(
    ("network", "file", "text"),
    [
        ("wafers:2xinner.yaml", "inner.yaml", "{{kind: mesh, columns: {rate}, rows: 2}}"),
        ("net.txt", "net.txt", NS3),
    ],
    ids=["wafers", "ns3"],
)
def test_networks_are_found_and_followed_from_any_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, network: str, file: str, text: str
) -> None:
    """A study runs in any folder; paths in names start from that of the study file."""
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    space = {**SPACE, "traces": "one", "network": network, "network_model": "fluid"}
    keys = list[str]()
    for rate in (1, 2):
        written(folder / file, text.format(rate=rate))
        plan = planned(folder, space, objectives=["total_ns"])
        row = evaluate(plan.point(0))
        assert (row["error"], row["network"]) == (None, network)
        keys.append(row["key"])
    assert keys[0] != keys[1]


NODES = "{per-node-custom-implementation: custom/nodes.yaml, all-reduce-implementation: [ring]}"


@pytest.mark.parametrize(
    "system",
    ["{all-reduce-implementation-custom: [custom/own]}", NODES],
    ids=["collective", "nodes"],
)
def test_traces_of_custom_collectives_are_part_of_the_inputs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    """Their paths start from the folder of the study file, in whatever folder the study runs."""
    (folder / "custom").mkdir()
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    written(folder / "sys.yaml", system)
    written(folder / "custom/nodes.yaml", "1: custom/own")
    space = {**SPACE, "traces": "two", "network": "net.yaml", "network_model": "fluid"}

    def row() -> dict[str, Any]:
        return evaluate(planned(folder, space, objectives=["total_ns"]).point(0))

    missing = row()
    assert "own.0.et" in missing["error"]
    found = [missing]
    for micros in (3, 4):
        for place in range(2):
            write(folder / f"custom/own.{place}.et", [compute(1, micros)])
        found.append(row())
    assert [one["error"] for one in found[1:]] == [None, None]
    assert [one["total_ns"] for one in found[1:]] == [3_000, 4_000]
    written(folder / "custom/nodes.yaml", "2: custom/own")
    found.append(row())
    keys = {one["key"] for one in found}
    assert len(keys) == (4 if system == NODES else 3)


@pytest.mark.parametrize(
    ("space", "keys", "line"),
    [
        ({"traces": "three"}, {}, r"space\.traces: .*three"),
        ({"network": ["net.yaml", "none.yaml"]}, {}, r"space\.network: .*none\.yaml"),
        ({"network": ["net.yaml", "ring"]}, {}, r"space\.network: must be one of .*, not 'ring'"),
        ({"system": 5}, {}, r"space\.system: must be a name or a file, not 5"),
        ({"network_model": "any"}, {}, r"space\.network_model: must be one of fluid, .*'any'"),
        (
            {"num_queues_per_dim": 0},
            {},
            r"space\.num_queues_per_dim: must be .* from 1 to 1024, not 0",
        ),
        ({"traces.x": 1}, {}, r"space\.traces\.x: must begin with one of traces, network, "),
        ({}, {"baseline": "x"}, r"baseline: must be one of net\.yaml, .*, not 'x'"),
        ({}, {"npu_from": "mesh:2x1"}, r"npu_from: must be given only with topology"),
        ({}, {"objectives": ["busy_s"]}, r"objectives\.0: must be one of total_ns, "),
    ],
    ids=range(10),
)
def test_bad_studies_are_refused(
    folder: Path, space: dict[str, Any], keys: dict[str, Any], line: str
) -> None:
    with pytest.raises(InputError, match=rf"study\.yaml: {line}"):
        planned(folder, {**SPACE, **space}, **{**KEYS, **keys})


def test_a_network_is_required(folder: Path) -> None:
    with pytest.raises(InputError, match=r"space\.network: is required and was not given"):
        planned(folder, {"traces": "one", "system": "sys.yaml"}, objectives=["total_ns"])
