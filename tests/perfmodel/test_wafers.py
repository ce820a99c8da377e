"""Tests of perfmodel.wafers."""

import re

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.files import FredFile, L1Entry
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.wafers import JOINS, run_wafers

GIB = 2.0**30


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("topology", FABRICS)
def test_one_wafer_stands_for_all(topology: str, join: str) -> None:
    wafer = parse_topology(topology)
    one, three = (run_wafers(wafer, 3, GIB / 8, join, shown=n).time_s for n in (1, 3))
    assert three == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("topology", FABRICS)
def test_one_wafer_goes_through_its_controllers_and_back(topology: str) -> None:
    result = run_wafers(parse_topology(topology), 1, GIB)
    assert result.time_s == pytest.approx(result.inside_s)
    assert result.between_s == 0.0


def test_whole_takes_longer_than_each_step_and_less_than_both() -> None:
    result = run_wafers(parse_topology("fred-d"), 16, GIB, "switch")
    assert max(result.inside_s, result.between_s) < result.time_s
    assert result.time_s < result.inside_s + result.between_s


def test_ring_between_wafers_takes_its_closed_form() -> None:
    result = run_wafers(parse_topology("fred-d"), 8, GIB, "switch")
    moved_s = 2 * 7 / 8 * GIB / 18 / 128e9
    assert result.between_s == pytest.approx(moved_s + 2 * 7 * 2 * 500e-9, rel=1e-6)


@pytest.mark.parametrize("count", [2, 64, 1024])
def test_reducing_between_wafers_is_faster_than_a_ring(count: int) -> None:
    wafer = parse_topology("fred-d")
    fred, switch = (run_wafers(wafer, count, GIB, join).time_s for join in ("fred", "switch"))
    assert fred < switch
    assert fred < 1.05 * run_wafers(wafer, 1, GIB).time_s


def test_levels_grow_with_the_wafers() -> None:
    wafer = parse_topology("fred-d")
    texts = [
        " ".join(run_wafers(wafer, count, GIB).provenance.assumptions)
        for count in (10, 11, 100, 1000, 1024)
    ]
    found = [re.search(r"by (\d) level", text) for text in texts]
    assert [match[1] for match in found if match] == ["1", "2", "2", "3", "4"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"wafers": 0}, "wafers: must be 1 to 1024, not 0"),
        ({"wafers": 1025}, "wafers: must be 1 to 1024, not 1025"),
        ({"join": "rope"}, "join: must be one of switch, fred, not 'rope'"),
        ({"size_bytes": 0}, "size: must be above 0 bytes, not 0"),
    ],
)
def test_bad_argument_is_refused(more: dict[str, object], message: str) -> None:
    arguments = {"wafers": 2, "size_bytes": GIB} | more
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        run_wafers(parse_topology("fred-d"), **arguments)  # type: ignore[arg-type]


def test_wafer_without_io_controllers_is_refused() -> None:
    wafer = FredFile(
        kind="fred",
        l1=[L1Entry(count=2, npus=2, io_controllers=0, record="l1-12")],
        l2_record="l2-10",
        l1_l2_bytes_per_s=1e12,
        in_network=True,
    ).build("small")
    with pytest.raises(InputError, match=r"^topology: must have I/O .*, as small has none$"):
        run_wafers(wafer, 2, GIB)
