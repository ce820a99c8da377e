"""Tests of fred_hw.wafer.plane."""

from functools import cache
from pathlib import Path

import pytest

from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec

EXAMPLES = Path(__file__).parents[3] / "examples"
THREE_LEVELS = {
    "npus": 8,
    "lanes": 1,
    "switches": [
        {"name": "top", "chiplets": 2, "ports": 4},
        *(
            {"name": f"mid_{n}", "above": "top", "chiplets": 2, "ports": 4, "uplinks": 2}
            for n in range(2)
        ),
        *(
            {
                "name": f"low_{n}",
                "above": f"mid_{n // 2}",
                "chiplets": 1,
                "ports": 4,
                "uplinks": 2,
                "npus": [2 * n, 2 * n + 1],
            }
            for n in range(4)
        ),
    ],
}


@cache
def plane(name: str) -> Plane:
    if name == "three levels":
        return Plane(WaferSpec.model_validate(THREE_LEVELS))
    return Plane(load_wafer(str(EXAMPLES / f"{name}.yaml")))


each = pytest.mark.parametrize("name", ["wafer-4", "wafer-20", "wafer-20-narrow", "three levels"])


@each
def test_every_port_of_a_chiplet_has_an_end(name: str) -> None:
    assert all(len(one.ends) == one.spec.ports for one in plane(name).units)


@each
def test_links_carry_as_much_in_both_directions(name: str) -> None:
    one = plane(name)
    for number, chiplet in enumerate(one.units):
        for port, end in enumerate(chiplet.ends):
            between, narrow = end.kind == "unit", name == "wafer-20-narrow"
            assert one.flit_cycles(number, port) == (2 if between and narrow else 1)
            if between:
                assert one.flit_cycles(end.number, end.port) == one.flit_cycles(number, port)


@each
def test_unicasts_go_up_and_down_again_to_every_end(name: str) -> None:
    one = plane(name)
    height = max(len(one.chain(chiplet.switch)) for chiplet in one.units)
    for source in range(one.addresses):
        for target in range(one.addresses):
            assert len(one.route(source, target)) - 1 <= 2 * height - 1


def test_unicasts_share_out_links() -> None:
    one = plane("wafer-20")
    (up,) = [n for n, chiplet in enumerate(one.units) if chiplet.name == "l1_0"]
    assert {one.port_for(up, address) for address in range(4, 20)} == {8, 9, 10, 11}


def test_chiplets_of_a_switch_in_a_plane_are_numbered() -> None:
    names = [one.name for one in plane("wafer-20").units]
    assert names == ["l2_p0", "l2_p1", *(f"l1_{k}" for k in range(5))]


def test_unicasts_down_take_all_links() -> None:
    """An L2 chiplet has two links to each L1, and two NPUs there that unicasts go to by it."""
    one = plane("wafer-20")
    top = [number for number, chiplet in enumerate(one.units) if not chiplet.switch]
    for part, number in enumerate(top):
        for first in range(0, 20, 4):
            # Others go up to the other chiplet: an uplink is an address modulo four.
            come = [npu for npu in range(first, first + 4) if npu % 4 % len(top) == part]
            assert len({one.port_for(number, npu) for npu in come}) == len(come) == 2
