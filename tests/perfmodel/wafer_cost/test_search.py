"""Tests of perfmodel.wafer_cost.search: legal wafers, and the least area and price."""

import pytest

from fred_hw.protocol import ProtocolSpec
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.spec import WaferSpec
from perfmodel.wafer_cost.chiplets import (
    ChipletKind,
    chiplet_kinds,
    published_wafer,
    tree_wafer,
)
from perfmodel.wafer_cost.search import best_of_each, wafers_like
from tests.fred_hw.wafer.test_plane import EXAMPLES

WAFER = published_wafer()


def test_the_published_wafer_is_among_the_candidates() -> None:
    found = [chiplet_kinds(one) for one in wafers_like(WAFER, 35, 64)]
    assert chiplet_kinds(WAFER) in found
    assert all(sum(kind.chiplets for kind in one) <= 35 for one in found)


def test_uplinks_that_are_no_binary_share_of_an_npu_are_kept() -> None:
    own = tree_wafer(npus=27, controllers=0, l1s=9, planes=4, parts=7, uplinks=7)
    assert own in list(wafers_like(own, 64, 4))


def test_candidates_keep_the_hardware_of_the_wafer() -> None:
    protocol = ProtocolSpec(phases=8)
    entries = [one.with_changes(middle_switches=4) for one in WAFER.switches]
    own = WAFER.with_changes(switches=entries, lanes=16, format="bf16", protocol=protocol)
    found = list(wafers_like(own, 35, 64))
    assert own in found
    for one in found:
        assert (one.lanes, one.format, one.protocol.phases) == (16, "bf16", 8)
        assert {entry.middle_switches for entry in one.switches} == {4}


def test_candidates_keep_the_rates_of_npus_and_uplinks() -> None:
    for one in wafers_like(WAFER, 200, 8):
        kinds = chiplet_kinds(one)
        assert kinds[0].port_bytes_per_s * one.planes == pytest.approx(3e12)
        for entry in one.switches:
            assert entry.uplinks == (len(entry.npus) if entry.above else 0)


def test_five_l1_switches_of_the_published_size_are_the_best_of_their_number() -> None:
    found = best_of_each(wafers_like(WAFER, 35, 64), 107.4, largest_mm2=858)
    by_l1s = {one.l1s: one for one in found}
    assert by_l1s[5].kinds == chiplet_kinds(WAFER)
    assert [one.l1s for one in found] == [1, 5, 2]
    assert (found[0].chiplets, found[0].ports) == (35, (38,))
    assert found[0].area_mm2 == pytest.approx(35 * (2 * 62304 / 35 / 107.4 / 4) ** 2)


def test_at_the_published_port_rate_more_chiplets_save_area() -> None:
    found = best_of_each(wafers_like(WAFER, 60, 5), 107.4, largest_mm2=858)
    assert [(one.l1s, one.chiplets, round(one.area_mm2)) for one in found] == [
        (10, 60, 14287),
        (5, 45, 16869),
        (4, 45, 19331),
    ]


def test_price_in_place_of_area() -> None:
    def price(kinds: object) -> float:
        assert isinstance(kinds, tuple)
        return sum(one.chiplets for one in kinds if isinstance(one, ChipletKind))

    best = best_of_each(wafers_like(WAFER, 60, 64), 107.4, largest_mm2=858, price=price)[0]
    assert (best.value, best.chiplets, best.l1s) == (10, 10, 1)


def test_no_chiplet_is_larger_than_the_bound() -> None:
    for one in best_of_each(wafers_like(WAFER, 100, 64), 107.4, largest_mm2=300):
        assert max(kind.area_mm2(107.4) for kind in one.kinds) <= 300
    assert best_of_each(wafers_like(WAFER, 35, 64), 107.4, largest_mm2=2) == ()


def test_narrow_uplinks_stay_narrow() -> None:
    narrow = load_wafer(str(EXAMPLES / "wafer-20-narrow.yaml"))
    # 1/8 of an NPU's rate for each NPU of an L1 makes no whole link of 2, 4, 5 or 10 NPUs.
    assert {len(one.switches) for one in wafers_like(narrow, 100, 64)} == {1}


def test_unequal_switches_are_refused() -> None:
    data = WAFER.model_dump(mode="json")
    data["switches"][0]["ports"] -= 2
    data["switches"][1].update(uplinks=2, ports=10)
    data["switches"][0]["ports"] += 1
    odd = type(WAFER).model_validate(data)
    with pytest.raises(ValueError, match="same uplinks for each NPU in all L1s"):
        list(wafers_like(odd, 35, 64))


def _changed(number: int, **fields: object) -> WaferSpec:
    entries = list(WAFER.switches)
    entries[number] = entries[number].with_changes(**fields)
    return WAFER.with_changes(switches=entries)


@pytest.mark.parametrize(
    ("wafer", "message"),
    [
        (_changed(2, middle_switches=4), "must all have the same middle_switches, not different"),
        (_changed(0, protocol=WAFER.protocol), "must all have the same protocol, not different"),
        (
            load_wafer(str(EXAMPLES / "wafer-20.yaml")).with_changes(
                npus=2,
                planes=1,
                switches=[
                    {"name": "l2", "chiplets": 1, "ports": 3, "controllers": 1},
                    {
                        "name": "a",
                        "above": "l2",
                        "chiplets": 1,
                        "ports": 2,
                        "uplinks": 1,
                        "npus": [0],
                    },
                    {
                        "name": "b",
                        "above": "l2",
                        "chiplets": 1,
                        "ports": 2,
                        "uplinks": 1,
                        "npus": [1],
                    },
                ],
            ),
            "below one L2 without NPUs and I/O controllers, not another tree",
        ),
    ],
)
def test_wafers_that_the_search_cannot_keep_are_refused(wafer: WaferSpec, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(wafers_like(wafer, 35, 64))
