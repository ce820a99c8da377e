"""Tests of fred_hw.compiler.shape."""

import re
from collections.abc import Callable

import pytest

from fred_hw.compiler.shape import (
    code_width,
    configuration_width,
    layout,
    microswitch_counts,
    split_count,
)


@pytest.mark.parametrize(
    ("ports", "middle_switches", "counts"),
    [
        (2, 3, {"R": 0, "D": 0, "RD": 1, "mux": 0, "demux": 0}),
        (3, 3, {"R": 1, "D": 1, "RD": 3, "mux": 1, "demux": 1}),
        (8, 3, {"R": 10, "D": 10, "RD": 9, "mux": 0, "demux": 0}),
        (5, 2, {"R": 4, "D": 4, "RD": 4, "mux": 3, "demux": 3}),
    ],
)
def test_microswitches_are_counted(
    ports: int, middle_switches: int, counts: dict[str, int]
) -> None:
    assert microswitch_counts(ports, middle_switches) == counts


@pytest.mark.parametrize("middle_switches", [2, 3, 4, 8])
@pytest.mark.parametrize("ports", [2, 3, 5, 8, 11, 12, 20])
def test_layout_fills_the_word_and_holds_every_microswitch(
    ports: int, middle_switches: int
) -> None:
    fields = layout(ports, middle_switches)
    offset = 0
    for field in fields:
        assert field.offset == offset
        offset += field.width
    assert offset == configuration_width(ports, middle_switches)
    assert len({field.path for field in fields}) == len(fields)
    for kind, count in microswitch_counts(ports, middle_switches).items():
        assert sum(field.kind == kind for field in fields) == count


def test_layout_names_the_way_to_each_switch() -> None:
    names = [field.path for field in layout(5, 2)]
    inner = ["r_0", "demux", "middle_0.rd", "middle_1.rd", "d_0", "mux"]
    middles = [f"middle_{c}.{name}" for c in range(2) for name in inner]
    assert names == ["r_0", "r_1", "demux", *middles, "d_0", "d_1", "mux"]


def test_levels_follow_the_recursion() -> None:
    assert split_count(2) == 0
    for ports in range(3, 65):
        assert split_count(ports) == 1 + split_count((ports + 1) // 2)


@pytest.mark.parametrize(
    ("function", "sizes", "message"),
    [
        (split_count, (1,), "ports must be 2 or more, not 1"),
        (code_width, (1,), "middle_switches must be 2 or more, not 1"),
        (configuration_width, (1, 2), "ports must be 2 or more, not 1"),
        (microswitch_counts, (1, 2), "ports must be 2 or more, not 1"),
        (microswitch_counts, (4, 1), "middle_switches must be 2 or more, not 1"),
    ],
)
def test_sizes_of_no_switch_are_refused(
    function: Callable[..., object], sizes: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        function(*sizes)
