"""Figures of pages on the wafer model agree with the commands and experiments that print them."""

import pytest

from docs.experiments.left_out import WORDS, longer_with_acks, with_vocabulary
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import FABRICS, parse_topology, shared_topology

from .pages import ROOT
from .printed import like
from .test_tables import rows

PAGE = (ROOT / "docs/explanation/wafer-model.md").read_text("utf-8")
KIB = 2.0**10
SIZES = {"1 KiB": KIB, "64 KiB": 64 * KIB, "1 MiB": KIB**2, "1 GiB": KIB**3}


def test_a_larger_vocabulary_takes_little_less() -> None:
    before_s, after_s = map(with_vocabulary, WORDS)
    assert after_s >= 0.96 * before_s
    for time_s in (before_s, after_s):
        assert f"{1e3 * time_s:.2f} ms" in PAGE.replace("\n", " ")


@pytest.mark.parametrize("name", [one for one in FABRICS if one.startswith("fred")])
def test_the_published_all_to_all_takes_its_printed_multiple_of_the_latency(name: str) -> None:
    fabric = shared_topology(name)
    latency_us, published_us = (
        1e6 * run_collective(fabric, "all_to_all", 1.0, algorithm=algorithm).time_s
        for algorithm in ("whole_all_gather:multicasts", "published")
    )
    text = f"{published_us / latency_us:.0f} times the latency of the longest route, "
    assert f"{text}{published_us:.3f} µs instead of {latency_us:.3f} µs" in PAGE.replace("\n", " ")


def test_acks_lengthen_an_all_reduce_on_the_mesh_as_printed() -> None:
    shares = [100 * longer_with_acks(size, list(range(20))) for size in (1e3, 1e6, 1e8)]
    text = "would take {:.0f} % longer at 1 KB, {:.0f} % at 1 MB and {:.1f} % at 100 MB."
    assert text.format(*shares) in PAGE


def test_collectives_take_as_long_alone_and_by_auto_as_printed() -> None:
    torus = f"{ROOT}/examples/torus-64.yaml"
    cases = {
        "broadcast of 4 MiB": (torus, "broadcast", 4 * KIB**2, "bidirectional_ring"),
        "reduce-scatter of 64 KiB": ("fred-d", "reduce_scatter", 64 * KIB, "two_level_ring"),
        "all-reduce of 1 B on `fred-a`": ("fred-a", "all_reduce", 1.0, "two_level_ring"),
        "all-reduce of 1 B on `mesh:9x9`": ("mesh:9x9", "all_reduce", 1.0, "direct"),
    }
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    for name, (topology, pattern, size, alone) in cases.items():
        [line] = [line for line in lines if line.startswith(f"| {name}")]
        cells = [cell.partition(" µs")[0] for cell in line.split(" | ")[1:]]
        for cell, algorithm in zip(cells, (alone, "auto"), strict=True):
            found = run_collective(parse_topology(topology), pattern, size, algorithm=algorithm)
            assert cell == like(cell, 1e6 * found.time_s), name


def test_page_on_fred_has_the_times_of_all_reduces() -> None:
    fabrics = [parse_topology(name) for name in FABRICS]
    for size, *cells in rows("docs/explanation/what-is-fred.md", "## How much that is"):
        for cell, fabric in zip(cells, fabrics, strict=True):
            found = run_collective(fabric, "all_reduce", SIZES[size], algorithm="published")
            assert cell == like(cell, 1e6 * found.time_s), (size, fabric)


@pytest.mark.slow
def test_page_on_schedules_has_the_times_of_all_reduces() -> None:
    algorithms = ("auto", "multitree_full_slots", "synthesized")
    for name, *cells in rows("docs/explanation/schedules.md", "## All-reduces"):
        fabric = parse_topology(name.strip("`"))
        times_us = [
            1e6 * run_collective(fabric, "all_reduce", 64 * KIB**2, algorithm=one).time_s
            for one in algorithms
        ]
        for cell, time_us in zip(cells, times_us, strict=True):
            if cell == "not better":
                assert time_us >= times_us[0], name
            else:
                printed = cell.partition(" ")[0]
                assert printed == like(printed, time_us), name
