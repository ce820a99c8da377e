"""Tests of perfmodel.wafer_cost.chiplets: edge and area of switch chiplets, and links."""

from math import pi

import pytest

from fred_hw.wafer.load import load_wafer
from perfmodel.published import SWITCH_POWER_W
from perfmodel.wafer_cost.chiplets import (
    area_mm2,
    chiplet_kinds,
    published_wafer,
    tree_wafer,
    wiring,
)
from studies.wires import WIRES_BYTES_PER_S
from tests.fred_hw.wafer.test_plane import EXAMPLES

KINDS = chiplet_kinds(published_wafer())


def test_the_published_wafer_is_the_example() -> None:
    example = load_wafer(str(EXAMPLES / "wafer-20.yaml"))
    assert chiplet_kinds(example) == KINDS
    assert wiring(example) == wiring(published_wafer())


def test_chiplets_of_the_published_wafer() -> None:
    found = [(one.name, one.chiplets, one.bytes_per_s / 1e9) for one in KINDS]
    # 4 NPUs and 4 uplinks of 600 GB/s, and a fifth of 128 GB/s of each I/O controller.
    assert found == [
        ("L1, 12 ports", 15, pytest.approx(8 * 600 + 4 * 25.6)),
        ("L1, 11 ports", 10, pytest.approx(8 * 600 + 3 * 25.6)),
        ("L2, 10 ports", 10, pytest.approx(6000)),
    ]


def test_the_edge_carries_both_directions() -> None:
    l2 = KINDS[-1]
    assert l2.perimeter_mm(107.4) == pytest.approx(12000 / 107.4)
    assert l2.area_mm2(107.4) == pytest.approx((12000 / 107.4 / 4) ** 2)
    assert area_mm2(KINDS, 107.4) == pytest.approx(20770.6, abs=0.1)


def test_logic_is_the_least_area() -> None:
    """5 % of the published area, for all chiplets together."""
    assert sum(one.chiplets * one.logic_mm2 for one in KINDS) == pytest.approx(0.05 * 25195)
    assert area_mm2(KINDS, 1000) == pytest.approx(0.05 * 25195)
    assert area_mm2(KINDS, 250) > 0.05 * 25195


def test_power_is_the_published_power_shared_out() -> None:
    assert sum(one.chiplets * one.power_w for one in KINDS) == pytest.approx(SWITCH_POWER_W)
    assert KINDS[0].power_w == pytest.approx(SWITCH_POWER_W * 12 / 390)


def test_slow_uplinks_need_less_edge() -> None:
    narrow = chiplet_kinds(load_wafer(str(EXAMPLES / "wafer-20-narrow.yaml")))
    assert [one.bytes_per_s / 1e9 for one in narrow] == pytest.approx(
        [4 * 600 + 300 + 102.4, 4 * 600 + 300 + 76.8, 5 * 300]
    )


def test_links_of_the_published_wafer() -> None:
    found = {one.name: (one.links, one.bytes_per_s / 1e12) for one in wiring(published_wafer())}
    assert found == {
        "NPU to L1": (100, pytest.approx(60)),
        "I/O to L1": (90, pytest.approx(18 * 0.128)),
        "L1 to L2": (100, pytest.approx(60)),
    }
    inner = found["NPU to L1"][1] + found["L1 to L2"][1]
    assert inner == pytest.approx(WIRES_BYTES_PER_S / 1e12)


def test_one_switch_has_no_uplinks() -> None:
    flat = tree_wafer(npus=20, controllers=18, l1s=1, planes=10, parts=0, uplinks=0)
    (kind,) = chiplet_kinds(flat)
    assert (kind.name, kind.chiplets, kind.ports) == ("L1, 38 ports", 10, 38)
    assert kind.bytes_per_s == pytest.approx((20 * 3e12 + 18 * 128e9) / 10)
    assert kind.area_mm2(107.4) < pi * 150**2
