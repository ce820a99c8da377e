"""Tests of perfmodel.studies.wires, and what docs/explanation/wires.md says of its results."""

from dataclasses import replace

import pytest

from perfmodel.published import NPU_L1_BYTES_PER_S, SWITCH_AREA
from perfmodel.studies.reproduce import reproduce
from perfmodel.studies.section import Setting
from perfmodel.studies.sections.wires import WORKLOADS, compared
from perfmodel.studies.wires import (
    FABRICS,
    FRED,
    FRED_D_RATES,
    HYBRIDS,
    MESH,
    WIRES_BYTES_PER_S,
    Fabric,
    Split,
    best_of,
    best_split,
    given_split,
)
from tests.docs.pages import ROOT

NAMES = [fabric.name for fabric in FABRICS]


def test_fred_d_has_the_wires_and_nearly_the_published_area() -> None:
    split = given_split(FRED[5], "gpt-3", "ideal", FRED_D_RATES)
    assert split.wires_bytes_per_s == WIRES_BYTES_PER_S == 120e12
    # 24 chiplets of 12 ports and ten of 10; the published ones have 11 ports in part.
    assert split.area_mm2 == pytest.approx(SWITCH_AREA.value, rel=0.05)


@pytest.mark.parametrize("fabric", FABRICS, ids=NAMES)
@pytest.mark.parametrize("rates", [(3e12, 12e12), (5e12, 1e12), (1e12, 4e12)])
def test_slopes_of_the_area_are_those_of_the_area(
    fabric: Fabric, rates: tuple[float, float]
) -> None:
    found = fabric.area_slopes(rates)
    for place, slope in enumerate(found):
        step = 1e8
        more, less = ([*rates], [*rates])
        more[place] += step
        less[place] -= step
        both = [fabric.area_mm2((one[0], one[1])) for one in (more, less)]
        assert slope == pytest.approx((both[0] - both[1]) / 2 / step, rel=1e-6, abs=1e-20)
    # So the tangent goes through 0, as the bound on the area takes for granted.
    tangent = sum(a * b for a, b in zip(found, rates, strict=True))
    assert tangent == pytest.approx(fabric.area_mm2(rates))


@pytest.mark.parametrize("fabric", FABRICS, ids=NAMES)
@pytest.mark.parametrize("workload", ["transformer-17b", "gpt-3"])
def test_best_splits_keep_wires_and_area(fabric: Fabric, workload: str) -> None:
    found = best_split(fabric, workload, "ideal")
    assert found.wires_bytes_per_s <= WIRES_BYTES_PER_S * (1 + 2e-4)
    assert found.area_mm2 <= FRED[5].area_mm2(FRED_D_RATES) * (1 + 2e-4)
    if fabric is FRED[5]:
        fred_d = given_split(fabric, workload, "ideal", FRED_D_RATES)
        assert found.computed_s < fred_d.computed_s


def _moved(split: Split, factor: float) -> Split:
    """Return a split with another rate of NPUs' links, the rest of the wires between switches."""
    end, inner = split.rates
    ratio = (split.wires_bytes_per_s - 20 * end) / inner  # links between switches
    other = end * factor
    rates = (other, (split.wires_bytes_per_s - 20 * other) / ratio)
    return replace(split, rates=rates)


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS)
def test_simulation_agrees_that_the_split_is_the_best(workload: str) -> None:
    best = best_of(FRED.values(), workload, "ideal")
    for factor in (0.8, 0.9, 0.95, 1.05, 1.1):
        moved = _moved(best, factor)
        if moved.rates[1] > 0:
            assert moved.exposed_s() > best.exposed_s() * 0.98
    others = [best_split(fabric, workload, "ideal").exposed_s() for fabric in FRED.values()]
    assert min(others) > best.exposed_s() * 0.98


def test_limited_npus_leave_wires_over() -> None:
    found = best_of(FRED.values(), "gpt-3", "ideal", NPU_L1_BYTES_PER_S)
    assert found.rates[0] == NPU_L1_BYTES_PER_S
    assert found.wires_bytes_per_s < 0.6 * WIRES_BYTES_PER_S


def test_mesh_has_all_its_wires_between_npus() -> None:
    assert best_split(MESH, "gpt-3", "ideal").rates[1] * 31 == pytest.approx(WIRES_BYTES_PER_S)
    assert "links of 3.87 TB/s" in best_split(MESH, "gpt-3", "ideal").words


@pytest.mark.slow
def test_rows_of_the_section_are_within_tolerance() -> None:
    rows = list(reproduce(["wires"], Setting("ideal")))
    assert len(rows) == 4 * len(WORKLOADS) and all(row.ok for row in rows)
    assert {row.evidence for row in rows} == {"derived"}


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS)
def test_page_has_the_exposed_communication(workload: str) -> None:
    shown = [f"{1e3 * one.exposed_s():.1f}" for one in compared(workload, "measured").values()]
    page = (ROOT / "docs/explanation/wires.md").read_text("utf-8")
    assert f"\n| {' | '.join([workload, *shown])} |\n" in page


def test_hybrids_have_no_top_switch() -> None:
    assert [fabric.name for fabric in HYBRIDS.values()] == [
        "hybrid of 2 x 2 groups",
        "hybrid of 5 x 1 groups",
        "hybrid of 5 x 2 groups",
    ]
    assert all(ends for fabric in HYBRIDS.values() for _, ends, _ in fabric.switches)
