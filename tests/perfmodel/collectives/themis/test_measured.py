"""Runs of the code of Themis's authors, chunk by chunk."""

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest

from perfmodel.collectives.themis.network import Kind, QueueDimension, ideal_s
from perfmodel.collectives.themis.queues import Service
from perfmodel.collectives.themis.run import Queuing, run_chunks

RUNS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("measured.json").read_text())[
    "runs"
]
MIB = 1 << 20
LINK_S = 11e-9  # latency and endpoint delay
STEP_S = {"switch": 2 * LINK_S, "ring": LINK_S, "fully_connected": LINK_S}


def name_of(run: dict[str, Any]) -> str:
    return "-".join(run[key] for key in ("topology", "pattern", "policy", "intra"))


def dimensions_of(run: dict[str, Any]) -> list[QueueDimension]:
    entries = zip(run["npus"], run["gib_per_s"], run["kinds"], strict=True)
    return [QueueDimension(npus, rate * 2**30, STEP_S[kind], kind) for npus, rate, kind in entries]


def size_of(run: dict[str, Any]) -> int:
    """Return the whole vector [B]."""
    return run["own_mib"] * MIB * (prod(run["npus"]) if run["pattern"] == "all_gather" else 1)


def time_s(services: list[Service]) -> float:
    return max(one.done_s for one in services)


@pytest.mark.parametrize("run", RUNS, ids=name_of)
def test_run_of_the_authors_code(run: dict[str, Any]) -> None:
    how = Queuing(run["policy"], run["chunks"], run["intra"], compatible=True)
    dimensions = dimensions_of(run)
    plans, services = run_chunks(dimensions, size_of(run), run["pattern"], how)
    if "orders" in run:
        assert " ".join("".join(map(str, one.order)) for one in plans) == run["orders"]
    if "chunk_bytes" in run:
        assert [one.size_bytes for one in plans] == run["chunk_bytes"]
    sent = [
        round(
            float(sum(one.phase.sent_bytes for one in services if one.phase.dimension == d)) / MIB,
            6,
        )
        for d in range(len(dimensions))
    ]
    assert sent == run["sent_mib"]
    assert time_s(services) * 1e9 == pytest.approx(run["time_ns"], rel=0.011)


TABLE = {  # utilization of a 1 GiB all-reduce in the fixed order, with FIFO and with SCF
    "SW_SW": ([16, 64], "ss", [1200, 800], 0.6389, 0.8828, 0.9784),
    "SW_SW_SW_homogeneous": ([16, 8, 8], "sss", [800, 800, 800], 0.3550, 0.8572, 0.9590),
    "SW_SW_SW_heterogeneous": ([16, 8, 8], "sss", [1600, 800, 400], 0.6083, 0.9794, 0.9736),
    "FC_Ring_SW": ([8, 16, 8], "frs", [1400, 800, 400], 0.6146, 0.7870, 0.9417),
    "Ring_SW_SW_SW": ([4, 4, 8, 8], "rsss", [2000, 1600, 800, 400], 0.5541, 0.8963, 0.9482),
    "Ring_FC_Ring_SW": ([4, 8, 4, 8], "rfrs", [3000, 1400, 1200, 800], 0.6229, 0.8651, 0.9327),
}
"""Six networks of the paper, Gb/s of an NPU, and what the authors' code gives."""

KINDS: dict[str, Kind] = {"s": "switch", "r": "ring", "f": "fully_connected"}


def utilizations(name: str) -> tuple[float, float, float]:
    npus, kinds, rates, *_ = TABLE[name]
    dimensions = [
        QueueDimension(count, rate / 8 * 2**30, STEP_S[KINDS[kind]], KINDS[kind])
        for count, kind, rate in zip(npus, kinds, rates, strict=True)
    ]
    found = [
        ideal_s(dimensions, 2**30, "all_reduce")
        / time_s(run_chunks(dimensions, 2**30, "all_reduce", how)[1])
        for how in (Queuing("dimension_order"), Queuing(intra="fifo"), Queuing(intra="scf"))
    ]
    return found[0], found[1], found[2]


@pytest.mark.parametrize("name", TABLE)
def test_six_networks(name: str) -> None:
    fixed, fifo, scf = utilizations(name)
    expected = TABLE[name][3:]
    assert (fixed, fifo) == pytest.approx(expected[:2], abs=0.01)
    assert scf == pytest.approx(expected[2], abs=0.02)


def test_means_over_six_networks() -> None:
    found = [utilizations(name) for name in TABLE]
    means = [sum(column) / len(found) for column in zip(*found, strict=True)]
    assert means == pytest.approx([0.5656, 0.8780, 0.9556], abs=0.005)
    speedups = [scf / fixed for fixed, _, scf in found]
    assert sum(speedups) / len(speedups) == pytest.approx(1.762, abs=0.02)
    assert max(speedups) == pytest.approx(2.70, abs=0.03)


def test_latency_of_the_pipelined_mode_holds_up_no_other_chunk() -> None:
    run = next(one for one in RUNS if one["topology"] == "3D-FC_Ring_SW")
    times = [
        time_s(run_chunks(dimensions_of(run), size_of(run), "all_reduce", Queuing(latency=mode))[1])
        for mode in ("occupancy", "pipelined")
    ]
    assert times[1] < times[0]
