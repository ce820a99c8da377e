"""Contract of fred_hw.switch.source_request."""

import re
from typing import Any

import pytest

from fred_hw.protocol import PASSES
from fred_hw.switch.source_request import SourceRequest
from fred_hw.virtual_channels import DEFAULT_CHANNELS, VirtualChannels
from tests.fred_hw.simulation import trace

MP, PP, DP = 0b001, 0b010, 0b100
SPACE = 0b1110
"""Destination 0 has no space."""


def request(mp: int = 0, pp: int = 0, dp: int = 0, **others: int) -> dict[str, int]:
    """Return a cycle with the destination of the next packet of each circuit."""
    coming = {f"coming[{c}]": to for c, to in enumerate((mp, pp, dp))}
    spaces = {
        f"{name}[{c}]": SPACE
        for name in ("spaces", "vacant")
        for c in range(DEFAULT_CHANNELS.classes)
    }
    return {**coming, **spaces, **others}


def traced(cycles: list[dict[str, int]], watch: str = "pick") -> list[int]:
    return trace(SourceRequest(destinations=4), cycles, [watch])


def test_throughput_is_a_request_per_cycle_of_the_most_urgent_circuit_that_is_free() -> None:
    vacant = {"vacant[0]": 0b1100}
    cycles = [request(2, 4, 8), request(1, 4, 8), request(1, 1, 8), request(1, 1, 1), request()]
    assert traced(cycles) == [MP, PP, DP, 0, 0]
    assert traced([request(2, 4) | vacant]) == [PP]


def test_a_source_whose_path_stays_requests_none() -> None:
    assert traced([request(2, 4, 8, stays=1), request(2, 4, 8)]) == [0, MP]


def test_a_packet_that_was_passed_often_enough_waits_for_its_destination() -> None:
    """It has space, but another source has the path there."""
    taken = {"vacant[0]": 0b1100}
    passing = [request(2, 4, starts=1, circuit_of=1) | taken] * PASSES
    behind = [request(2, 4, circuit_of=1) | taken, request(2, 4), request(2, 4, starts=1)]
    cycles = [*passing, *behind, request(2, 4) | taken]
    assert traced(cycles) == [PP] * PASSES + [0, MP, MP, PP]
    assert traced(cycles, "late") == [0] * PASSES + [1, 0, 0, 0]


@pytest.mark.parametrize(
    "passing",
    [
        request(1, 4, starts=1, circuit_of=1),
        request(2, 4, circuit_of=1),
        request(4, 2, starts=1, circuit_of=0),
    ],
    ids=["without space", "without a packet", "of the same circuit"],
)
def test_only_packets_that_pass_one_with_space_count(passing: dict[str, int]) -> None:
    taken = {"vacant[0]": 0}
    last = request(2, 4) | taken
    assert traced([*[passing | taken] * (2 * PASSES), last])[-1] == PP


def test_reset_forgets_what_was_passed() -> None:
    taken = {"vacant[0]": 0}
    passing = [request(2, 4, starts=1, circuit_of=1) | taken] * PASSES
    last = request(2, 4) | taken
    assert traced([*passing, last])[-1] == 0
    assert traced([*passing, request(rst=1), last])[-1] == PP


@pytest.mark.parametrize(
    ("destinations", "kind", "text"),
    [
        (0, ValueError, "SourceRequest destinations must be 1 or more, not 0"),
        (True, TypeError, "SourceRequest destinations must be an integer, not True"),
    ],
)
def test_bad_parameters_are_refused(destinations: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        SourceRequest(destinations=destinations)


@pytest.mark.parametrize(
    ("channels", "kind", "text"),
    [
        (2, TypeError, "SourceRequest channels must be a VirtualChannels, not 2"),
        (None, TypeError, "SourceRequest channels must be a VirtualChannels, not None"),
    ],
)
def test_bad_channels_are_refused(channels: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        SourceRequest(destinations=4, channels=channels)


def two(**buffers: int) -> list[int]:
    """Return the picks of two virtual channels per class, whose destinations all have space."""
    spaces = {f"{name}[{k}]": 0b1111 for name in ("spaces", "vacant") for k in range(6)}
    named = {f"coming[{int(name[1:])}]": to for name, to in buffers.items() if name[0] == "b"}
    others = {name: value for name, value in buffers.items() if name[0] != "b"}
    cycle = spaces | named | others
    return trace(
        SourceRequest(destinations=4, channels=VirtualChannels(each=2)),
        [cycle, cycle | {"starts": 0}],
        ["pick"],
    )


def test_two_channels_of_a_class_take_turns() -> None:
    # Buffers 2 and 3 are of the second class; the one whose packet started gives way.
    assert two(b2=1, b3=2, starts=1, circuit_of=2)[1] == 0b001000
    assert two(b2=1, b3=2, starts=1, circuit_of=3)[1] == 0b000100
    assert two(b2=1, starts=1, circuit_of=2)[1] == 0b000100


def test_a_more_urgent_class_precedes_both_channels_of_another() -> None:
    assert two(b1=4, b2=1, b3=2)[0] == 0b000010


def test_a_channel_without_space_holds_up_no_other_channel() -> None:
    cycle = {"coming[2]": 1, "coming[3]": 2, "spaces[3]": 2, "vacant[3]": 2}
    unit = SourceRequest(destinations=4, channels=VirtualChannels(each=2))
    assert trace(unit, [cycle], ["pick"]) == [0b001000]


def two_traced(cycles: list[dict[str, int]], watch: str = "pick") -> list[int]:
    """Return a member in each cycle; destination 0 of buffers 0 and 1 is never vacant."""
    space = {f"{name}[{k}]": 0b1111 for name in ("spaces", "vacant") for k in range(6)}
    taken = {f"vacant[{k}]": 0b1110 for k in range(2)}
    unit = SourceRequest(destinations=4, channels=VirtualChannels(each=2))
    return trace(unit, [space | taken | one for one in cycles], [watch])


BLOCKED, SIBLING, LESS_URGENT = {"coming[0]": 1}, {"coming[1]": 2}, {"coming[2]": 4}
PASSING = BLOCKED | LESS_URGENT | {"starts": 1, "circuit_of": 2}
"""A packet of the second class passes the one of buffer 0."""


def test_a_packet_of_the_other_channel_leaves_the_count() -> None:
    between = BLOCKED | SIBLING | {"starts": 1, "circuit_of": 1}
    passing = [PASSING, between] * PASSES
    path = {"circuit_of": 2}
    assert two_traced([*passing, BLOCKED | LESS_URGENT | path], "late")[-1] == 1
    assert two_traced([*passing, BLOCKED | LESS_URGENT | path])[-1] == 0
    assert two_traced([*[between] * (2 * PASSES), BLOCKED | LESS_URGENT])[-1] == 0b000100


def test_a_packet_that_waits_bars_the_other_channel() -> None:
    cycles = [*[PASSING] * PASSES, BLOCKED | SIBLING | LESS_URGENT, SIBLING | LESS_URGENT]
    assert two_traced(cycles)[PASSES:] == [0, 0b000010]
    ends = [cycle | {"circuit_of": 1} for cycle in cycles[PASSES:]]
    assert two_traced([*cycles[:PASSES], *ends], "late")[PASSES:] == [1, 0]


def test_two_packets_that_wait_take_turns() -> None:
    """Only the channel whose packet starts forgets what passed it."""
    both = BLOCKED | {"coming[1]": 3}  # destination 1 becomes vacant while both wait
    passing = {"vacant[1]": 0b1100, "vacant[0]": 0b1100, **PASSING, **both}
    one = both | LESS_URGENT
    begins = one | {"starts": 1, "circuit_of": 1}
    assert two_traced([*[passing] * PASSES, one, begins, one])[PASSES:] == [0b10, 0b10, 0]
