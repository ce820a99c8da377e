"""Tests of studies.budgets."""

from itertools import pairwise

import pytest

from studies.budgets import BUDGETS, NETWORKS, WORKLOADS, at_budget, budget_points
from tests.docs.pages import ROOT


@pytest.mark.parametrize(
    ("network", "workload", "speedup"),
    # Optima of LIBRA's formulas for the authors' files, by an independent solver.
    [
        ("3D", "Transformer-175B", 1.0595),
        ("4D", "Transformer-175B", 1.0729),
        ("4D", "Transformer-1T", 1.2422),
        ("3D", "Transformer-17B", 1.0191),
    ],
)
def test_speed_ups_at_500_gb_per_s(network: str, workload: str, speedup: float) -> None:
    assert at_budget(network, workload, 500).speedup == pytest.approx(speedup, abs=5e-5)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_groups_take_all_npus(workload: str) -> None:
    # The least time of what fills whole dimensions does not depend on how many there are.
    if workload != "Transformer-175B":
        times = [at_budget(network, workload, 300).fastest.time_s for network in NETWORKS]
        assert times == pytest.approx([times[0]] * 3, rel=1e-6)
    for network in NETWORKS:
        point = at_budget(network, workload, 300)
        assert point.speedup >= 1 and point.gain >= 1


@pytest.mark.slow
def test_more_bandwidth_gains_less() -> None:
    points = list(budget_points())
    assert len(points) == len(NETWORKS) * len(WORKLOADS) * len(BUDGETS)
    for one, other in pairwise(points):
        if (one.network, one.workload) == (other.network, other.workload):
            assert other.fastest.time_s < one.fastest.time_s
            assert other.speedup < one.speedup
    for one in points:
        assert sum(one.cheapest.bytes_per_s) == pytest.approx(one.gb_per_s * 1e9)
        assert one.cheapest.kkt_residual is not None and one.cheapest.kkt_residual < 1e-5
    page = (ROOT / "docs/explanation/wires.md").read_text("utf-8")
    at_500, at_100 = ([one.speedup for one in points if one.gb_per_s == gb] for gb in (500, 100))
    gains = [one.gain for one in points]
    assert f"is {min(at_500):.2f} to {max(at_500):.2f} times as fast" in page
    assert f"at 100 GB/s, {min(at_100):.2f} to {max(at_100):.2f} times" in page
    assert f"the least time x cost is {min(gains):.1f} to {max(gains):.1f} times below" in page
