"""Tests of perfmodel.published."""

import pytest

from fred_hw.compiler.placement import Strategy
from perfmodel.published import (
    ALL_REDUCE_BANDWIDTH,
    BISECTION,
    COMPUTE_AREA,
    DENSE_IO_AREA,
    LINE_RATE,
    RESNET_COMPUTE_US,
    RESNET_DP_MB,
    RESNET_DP_US,
    SPEEDUP_C,
    SPEEDUP_D,
    STRATEGY_BANDWIDTH,
    SWEEPS,
    SWITCH_AREA,
    SWITCH_POWER,
    TRAFFIC_SAVED,
    TRAFFIC_SHARE,
    WAFER_BANDWIDTH,
    WORST_LINK,
    Published,
)
from perfmodel.topology.parse import FABRICS
from perfmodel.workloads.workload import PUBLISHED, WORKLOADS, load_workload

FIGURES: dict[str, dict[str, Published]] = {
    "all-reduce": ALL_REDUCE_BANDWIDTH,
    "bisection": BISECTION,
    "wafer": WAFER_BANDWIDTH,
    **STRATEGY_BANDWIDTH,
    "speed-up of FRED-C": SPEEDUP_C,
    "speed-up of FRED-D": SPEEDUP_D,
    "line rate": LINE_RATE,
    "ResNet-152": {
        **RESNET_DP_US,
        "traffic": RESNET_DP_MB,
        "compute": RESNET_COMPUTE_US,
    },
    "wafer in numbers": {
        "traffic": TRAFFIC_SHARE,
        "saved": TRAFFIC_SAVED,
        "worst link": WORST_LINK,
        "switches": SWITCH_AREA,
        "compute": COMPUTE_AREA,
        "dense": DENSE_IO_AREA,
        "power": SWITCH_POWER,
    },
    "exposed": {name: figures.exposed for name, figures in SWEEPS.items()},
    "sweep": {name: figures.speedup for name, figures in SWEEPS.items()},
}


@pytest.mark.parametrize("table", FIGURES)
def test_every_figure_is_positive_and_names_its_paper(table: str) -> None:
    assert FIGURES[table]
    for figure in FIGURES[table].values():
        assert figure.value > 0
        assert "arXiv 2406.19580" in figure.source


@pytest.mark.parametrize("table", ["all-reduce", "bisection", "wafer", *STRATEGY_BANDWIDTH])
def test_every_fabric_has_its_figure(table: str) -> None:
    assert tuple(FIGURES[table]) == FABRICS


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
    figures = SWEEPS[name]
    assert Strategy.parse(figures.best).workers == 20
    assert max(figures.microbatches) <= len(load_workload(name).network.layers)
    for stages, microbatches in figures.microbatches.items():
        assert 20 % stages == 0
        assert figures.samples_per_replica % microbatches == 0
