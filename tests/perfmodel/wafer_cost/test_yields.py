"""Tests of perfmodel.wafer_cost.yields: cases worked by hand, and bounds."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.wafer_cost.yields import Process, assembly_yield, dies_per_wafer, price_of_good


@pytest.mark.parametrize(
    ("area", "defects", "clustering", "wanted"),
    [
        (100, 1.0, 1.0, 1 / 2),
        (200, 0.5, 2.0, 1 / 2.25),
        (800, 0.1, 3.0, (1 + 0.8 / 3) ** -3),
        (800, 0.0, 3.0, 1.0),
    ],
)
def test_negative_binomial(area: float, defects: float, clustering: float, wanted: float) -> None:
    assert Process(defects, clustering).die_yield(area) == pytest.approx(wanted)


@given(st.floats(1, 5000), st.floats(0, 10), st.floats(0.1, 100))
def test_clusters_leave_more_good_dies_than_scattered_defects(
    area: float, defects: float, clustering: float
) -> None:
    found = Process(defects, clustering).die_yield(area)
    assert exp(-area / 100 * defects) - 1e-9 <= found <= 1


@pytest.mark.parametrize(("area", "dies"), [(100, 640), (780.25, 66), (2500, 14)])
def test_dies_of_a_wafer(area: float, dies: int) -> None:
    # 706.86 - 66.64, 90.59 - 23.86, 28.27 - 13.33
    assert dies_per_wafer(area) == dies


def test_a_die_larger_than_a_wafer_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must fit on a wafer of 300 mm, not have 70,000 mm2"):
        dies_per_wafer(70_000)


def test_prices() -> None:
    process = Process(1.0, 1.0, 6400.0, 2.0)
    assert process.known_good_price(100) == pytest.approx((10 + 2) / 0.5)
    assert process.monolithic_price(900) == pytest.approx(6402 * 10)


def test_what_is_never_good_has_no_price() -> None:
    process = Process(1000.0, 1e6, 6400.0, 2.0)
    assert process.die_yield(780) == process.die_yield(70_000) == 0
    assert process.known_good_price(780) is None
    assert process.monolithic_price(70_000) is None
    assert price_of_good(1e9, 1e-305) is None
    assert price_of_good(3.0, 0.5) == 6


@pytest.mark.parametrize(("spared", "wanted"), [(0, 0.9**6), (1, (0.9**3 + 0.1 * 0.9**2) ** 2)])
def test_assembly(spared: int, wanted: float) -> None:
    assert assembly_yield(0.9, 6, 2, spared) == pytest.approx(wanted)


def test_a_plane_that_spares_any_chiplet_tolerates_one() -> None:
    one_bad = 3 * 0.1 * 0.9**2
    assert assembly_yield(0.9, 3, 1, 3) == pytest.approx(0.9**3 + one_bad)
