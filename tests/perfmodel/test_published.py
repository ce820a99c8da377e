"""Tests of perfmodel.published."""

from collections.abc import Iterator

import pytest

from fred_hw.compiler.placement import Strategy
from perfmodel import published
from perfmodel.published import (
    ALL_REDUCE_BANDWIDTH,
    BISECTION,
    SPEEDUP_C,
    SPEEDUP_D,
    STRATEGY_BANDWIDTH,
    SWEEPS,
    WAFER_BANDWIDTH,
    Published,
    Sweep,
)
from perfmodel.topology.parse import FABRICS
from perfmodel.workloads.workload import PUBLISHED, WORKLOADS, load_workload

OTHER_PAPERS = ("PARAMETERS",)
BY_FABRIC = {
    "all-reduce": ALL_REDUCE_BANDWIDTH,
    "bisection": BISECTION,
    "wafer": WAFER_BANDWIDTH,
    **STRATEGY_BANDWIDTH,
}


def figures(value: object) -> Iterator[Published]:
    """Yield the figures in a table, and in tables and sweeps inside it."""
    if isinstance(value, Published):
        yield value
    elif isinstance(value, Sweep):
        yield from (value.exposed, value.speedup)
    elif isinstance(value, dict):
        for one in value.values():
            yield from figures(one)


TABLES = {name: found for name, value in vars(published).items() if (found := [*figures(value)])}


def test_figures_are_found() -> None:
    assert {"ALL_REDUCE_BANDWIDTH", "STRATEGY_BANDWIDTH", "SWEEPS", "WORST_LINK"} <= TABLES.keys()
    assert len(TABLES["STRATEGY_BANDWIDTH"]) == 15 and len(TABLES["SWEEPS"]) == 4


@pytest.mark.parametrize("table", TABLES)
def test_every_figure_is_positive_and_names_its_paper(table: str) -> None:
    for figure in TABLES[table]:
        assert figure.value > 0
        assert figure.source
        assert "arXiv 2406.19580" in figure.source or table in OTHER_PAPERS


@pytest.mark.parametrize("table", BY_FABRIC)
def test_every_fabric_has_its_figure(table: str) -> None:
    assert tuple(BY_FABRIC[table]) == FABRICS


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
    assert Strategy.parse(sweep.best).workers == 20
    assert max(sweep.microbatches) <= len(load_workload(name).network.layers)
    for stages, microbatches in sweep.microbatches.items():
        assert 20 % stages == 0
        assert sweep.samples_per_replica % microbatches == 0
