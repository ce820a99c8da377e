"""Tests of studies.sections.congestion_control."""

import pytest

from studies.congestion import CongestionPoint
from studies.reproduce import reproduce
from studies.section import Setting
from studies.sections.congestion_control import slowdowns

pytest.importorskip("numba")

MISSES = {
    "congestion/influence/all-to-all",
    "congestion/influence/dlrm",
    "congestion/all-reduce/one-switch",
    "congestion/wafers/all-reduce",
    "congestion/wafers/all-to-all",
    "congestion/wafers/dlrm",
}


@pytest.mark.slow(180)
@pytest.mark.xdist_group("report")  # shares its simulations with the test of the chart
def test_figures_are_within_tolerance_but_for_the_known() -> None:
    rows = list(reproduce(["congestion-control"], Setting("ideal")))
    assert {row.id for row in rows if not row.ok} == MISSES
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        assert (row.published is None) == (row.evidence == "derived")
        assert row.source.startswith("ours: ") == (row.evidence == "derived")
        assert row.how


def test_slowdowns_are_over_the_first() -> None:
    points = [
        CongestionPoint("n", "w", scheme, time_s, None)  # type: ignore[arg-type]
        for scheme, time_s in (("pfc", 2.0), ("hpcc", 2.5), ("dctcp", 1.9))
    ]
    assert slowdowns(points) == pytest.approx({"pfc": 0, "hpcc": 25, "dctcp": -5})
