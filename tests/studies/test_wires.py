"""Tests of studies.wires, and what docs/explanation/wires.md says of its results."""

import math
from dataclasses import replace

import pytest

from perfmodel.published import NPU_L1_BYTES_PER_S, SWITCH_AREA
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from studies.reproduce import reproduce
from studies.section import Setting
from studies.sections.wires import WORKLOADS, compared
from studies.wires import (
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

PAGE = (ROOT / "docs/explanation/wires.md").read_text("utf-8")

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
    found = compared(workload, "measured")
    shown = [f"{1e3 * one.exposed_s():.1f}" for one in found.values()]
    assert f"\n| {' | '.join([workload, *shown])} |\n" in PAGE
    best = found["best FRED"]
    l1s = next(count for count, fabric in FRED.items() if fabric is best.fabric)
    rates = [f"{rate / 1e12:.1f}" for rate in best.rates]
    change = f"{100 * (best.exposed_s() / found['FRED-D'].exposed_s() - 1):.0f} %"
    assert f"\n  | {' | '.join([workload, str(l1s), *rates, change])} |\n" in PAGE


@pytest.mark.slow
def test_page_has_the_wires_that_limited_npus_need() -> None:
    found = {
        name: best_of(FRED.values(), name, "measured", NPU_L1_BYTES_PER_S) for name in WORKLOADS
    }
    needed = {name: f"{one.wires_bytes_per_s / 1e12:.0f} TB/s" for name, one in found.items()}
    assert needed["gpt-3"] == needed["llama-3-70b"]
    assert (
        f"{needed['gpt-3']} for GPT-3 and Llama-3-70B, {needed['transformer-17b']} for "
        f"Transformer-17B and {needed['mixtral-8x7b']} for Mixtral"
    ) in PAGE
    for name, one in found.items():
        fred_d = given_split(FRED[5], name, "measured", FRED_D_RATES)
        assert one.exposed_s() == pytest.approx(fred_d.exposed_s(), rel=0.02)


@pytest.mark.slow
def test_page_has_the_shares_of_compute_and_the_gains_of_iterations() -> None:
    shares, gains, worse, better = [], [], [], []
    for workload in WORKLOADS:
        found = compared(workload, "measured")
        runs = {
            name: estimate(
                Request.of(one.fabric.topology(one.rates, one.protocol), load_workload(workload))
            )
            for name, one in found.items()
        }
        fred_d, fred = runs["FRED-D"], found["best FRED"]
        shares.append(fred_d.critical_path_s["compute"] / fred_d.iteration_time_s)
        gains += [fred_d.iteration_time_s / one.iteration_time_s - 1 for one in runs.values()]
        worse.append(found["mesh"].exposed_s() / fred.exposed_s() - 1)
        better.append(1 - found["best hybrid"].exposed_s() / fred.exposed_s())
    percent = "{:.0f} % to {:.0f} %".format
    assert f"is {percent(100 * min(shares), 100 * max(shares))} of the iterations" in PAGE
    assert f"whole iterations gain at most {math.ceil(1000 * max(gains)) / 10} %" in PAGE
    assert f"the mesh exposes {percent(100 * min(worse), 100 * max(worse))} more" in PAGE
    assert min(better) > -0.002 and 0.01 < max(better) < 0.02
    assert "as good as the best FRED tree or 1 to 2 % better" in PAGE


def test_hybrids_have_no_top_switch() -> None:
    assert [fabric.name for fabric in HYBRIDS.values()] == [
        "hybrid of 2 x 2 groups",
        "hybrid of 5 x 1 groups",
        "hybrid of 5 x 2 groups",
    ]
    assert all(ends for fabric in HYBRIDS.values() for _, ends, _ in fabric.switches)
