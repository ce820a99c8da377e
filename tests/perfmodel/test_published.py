"""Tests of perfmodel.published and perfmodel.derived."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generate.files import PACKAGES
from fred_hw import published as hardware
from fred_hw.compiler.placement import Strategy
from perfmodel import derived, published
from perfmodel.derived import ALL_REDUCE_BANDWIDTH, DP_BANDWIDTH, Derived
from perfmodel.published import (
    BISECTION,
    SPEEDUP_C,
    SPEEDUP_D,
    STRATEGY_BANDWIDTH,
    SWEEPS,
    WAFER_BANDWIDTH,
    Published,
    Statement,
    Sweep,
)
from perfmodel.topology.parse import FABRICS
from perfmodel.workloads.workload import PUBLISHED, WORKLOADS, load_workload

BY_FABRIC = {
    "all-reduce": ALL_REDUCE_BANDWIDTH,
    "bisection": BISECTION,
    "wafer": WAFER_BANDWIDTH,
    **STRATEGY_BANDWIDTH,
    "dp": DP_BANDWIDTH,
}


def figures(value: object) -> Iterator[Published | Statement]:
    """Yield the figures in a table, and in tables and sweeps inside it."""
    if isinstance(value, Published | Statement):
        yield value
    elif isinstance(value, Sweep):
        yield from (value.exposed, value.speedup, value.best)
    elif isinstance(value, dict):
        for one in value.values():
            yield from figures(one)


TABLES = {name: found for name, value in vars(published).items() if (found := [*figures(value)])}


def test_figures_are_found() -> None:
    assert {"WAFER_BANDWIDTH", "STRATEGY_BANDWIDTH", "SWEEPS", "WORST_LINK"} <= TABLES.keys()
    assert len(TABLES["STRATEGY_BANDWIDTH"]) == 13 and len(TABLES["SWEEPS"]) == 6


@pytest.mark.parametrize("table", TABLES)
def test_every_figure_names_its_paper_and_where_it_stands_there(table: str) -> None:
    assert len({figure.source.startswith(published.PAPER) for figure in TABLES[table]}) == 1
    for figure in TABLES[table]:
        if isinstance(figure, Published):
            assert figure.value > 0
        # Of other works the source names work and place, in words of their own.
        if re.match(r"Rashidi|FRED|section|table|figure", figure.source):
            assert re.match(rf"{published.PAPER}, (section \d(\.\d)*|table of )", figure.source)
        assert len(figure.source.split()) > 1
        assert "ours" not in figure.source and "derived" not in figure.source


@pytest.mark.parametrize(
    ("printed", "unit", "value", "last"),
    [("1.41", 1.0, 1.41, 0.01), ("1.4", 1.0, 1.4, 0.1), ("750", 1e9, 750e9, 1e9), ("5", 1, 5, 1)],
)
def test_digits_printed_say_value_and_last_digit(
    printed: str, unit: float, value: float, last: float
) -> None:
    figure = Published(printed, "made up", unit)
    assert figure.value == pytest.approx(value) and figure.last_digit == pytest.approx(last)


@pytest.mark.parametrize(
    ("printed", "value", "rounds"),
    [("1.4", 1.449, True), ("1.4", 1.451, False), ("1.41", 1.416, False), ("1.41", 1.406, True)],
)
def test_values_round_to_the_printed_digits(printed: str, value: float, rounds: bool) -> None:
    assert Published(printed, "made up").rounds(value) == rounds


def test_what_is_derived_gives_its_steps_and_stands_apart() -> None:
    own = [*derived.RESNET_DP_US.values(), derived.RESNET_DP_MB, derived.RESNET_COMPUTE_US]
    own += [DP_BANDWIDTH["fred-b"], DP_BANDWIDTH["fred-d"], ALL_REDUCE_BANDWIDTH["fred-d"]]
    for figure in own:
        assert isinstance(figure, Derived) and figure.value > 0
        assert re.match(r"ours: .*\d", figure.source)
    assert not any(isinstance(value, Derived) for value in vars(published).values())


@pytest.mark.parametrize("table", BY_FABRIC)
def test_every_fabric_has_its_figure(table: str) -> None:
    assert set(BY_FABRIC[table]) == set(FABRICS)


@pytest.mark.parametrize("speedups", [SPEEDUP_C, SPEEDUP_D], ids=["fred-c", "fred-d"])
def test_every_published_workload_has_its_speedup(speedups: dict[str, Published]) -> None:
    assert tuple(speedups) == PUBLISHED == WORKLOADS[: len(PUBLISHED)]
    assert all(SPEEDUP_D[name].value >= figure.value > 1 for name, figure in SPEEDUP_C.items())


@pytest.mark.parametrize("fabric", FABRICS)
def test_endpoint_equivalent_follows_from_the_published_rate(fabric: str) -> None:
    # In the network each byte crosses an NPU's link once; endpoints send 2 * 19 / 20 of them.
    factor = 2 * 19 / 20 if fabric in ("fred-b", "fred-d") else 1.0
    rate = WAFER_BANDWIDTH[fabric].value
    assert ALL_REDUCE_BANDWIDTH[fabric].value == pytest.approx(factor * rate)


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_can_be_run(name: str) -> None:
    sweep = SWEEPS[name]
    assert Strategy.parse(sweep.best.words).workers == 20
    assert max(sweep.microbatches) <= len(load_workload(name).network.layers)
    for stages, microbatches in sweep.microbatches.items():
        assert 20 % stages == 0
        assert sweep.samples_per_replica % microbatches == 0


@pytest.mark.parametrize("package", PACKAGES)
def test_rates_and_latencies_that_are_published_stand_in_no_other_file(package: str) -> None:
    variants = {rate for rate, _ in published.FRED_VARIANTS.values()}
    names = ("NPU_L1_BYTES_PER_S", "IO_BYTES_PER_S", "HBM_BYTES_PER_S", "LINK_LATENCY_S")
    values = {getattr(published, name) for name in names} | variants
    values |= {hardware.PORT_BYTES_PER_S, hardware.MESH_LINK_BYTES_PER_S}
    root = Path(published.__file__).parents[1]
    found = {
        path.relative_to(root).as_posix()
        for path in (root / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value in values
    }
    # In the last a bandwidth is one that we work out.
    allowed = {f"{package}/published.py", "perfmodel/derived.py"}
    assert found <= allowed
