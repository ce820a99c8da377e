"""Contract of fred_hw.switch.destination_choice."""

import re
from typing import Any

import pytest

from fred_hw.switch.destination_choice import DestinationChoice
from fred_hw.virtual_channels import VirtualChannels
from tests.fred_hw.simulation import trace


def choices(cycles: list[dict[str, int]], watch: str = "chosen") -> list[int]:
    return trace(DestinationChoice(sources=4), cycles, [watch])


def asks(mp: int = 0, pp: int = 0, dp: int = 0, **others: int) -> dict[str, int]:
    """Return a cycle in which sources pick circuits with packets to this destination."""
    picks = {f"picks[{c}]": sources for c, sources in enumerate((mp, pp, dp))}
    return {**picks, **dict.fromkeys((f"coming[{c}]" for c in range(3)), 0b1111), **others}


def test_throughput_is_a_choice_per_cycle_of_the_most_urgent_circuit() -> None:
    cycles = [asks(mp=0b0100, pp=0b0001), asks(pp=0b1000, dp=0b0001), asks(dp=0b0010), asks()]
    assert choices(cycles) == [0b0100, 0b1000, 0b0010, 0]


def test_a_source_whose_packet_goes_elsewhere_is_not_chosen() -> None:
    assert choices([asks(mp=0b0110) | {"coming[0]": 0b0100}]) == [0b0100]


def test_the_source_behind_the_last_one_that_started_is_the_next() -> None:
    starts = {"path": 0b0010, "starts": 0b0010}
    cycles = [asks(mp=0b1111, **starts), asks(mp=0b0111), asks(mp=0b0011)]
    assert choices(cycles) == [0b0001, 0b0100, 0b0001]


def test_latency_is_one_cycle_from_begins_to_circuit_to() -> None:
    cycles = [asks(pp=1, begins=1), asks(dp=1), asks(dp=1, begins=1), asks()]
    assert choices(cycles, "circuit_to") == [0, 1, 1, 2]


def test_reset_begins_turns_at_source_0() -> None:
    cycles = [asks(path=0b0010, starts=0b0010), asks(mp=0b1111, rst=1), asks(mp=0b1111)]
    assert choices(cycles)[-1] == 0b0001


@pytest.mark.parametrize(
    ("sources", "kind", "text"),
    [
        (0, ValueError, "DestinationChoice sources must be 1 or more, not 0"),
        (True, TypeError, "DestinationChoice sources must be an integer, not True"),
    ],
)
def test_bad_parameters_are_refused(sources: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        DestinationChoice(sources=sources)


def test_channels_of_a_class_are_one_class_and_the_source_says_by_which_it_goes_on() -> None:
    every = {f"coming[{k}]": 0b1111 for k in range(6)}
    # Source 0 asks for channel 1 of the second class, source 1 for channel 0; both go on by 1.
    asked = every | {"picks[3]": 0b0001, "picks[2]": 0b0010, "onto[0]": 0b0010, "onto[1]": 0b0001}
    cycles = [
        asked | {"begins": 1},
        asked | {"path": 1, "starts": 1},
        asked | {"begins": 1},
        asked | {"onto[0]": 0, "begins": 1},
        asked,
    ]
    unit = DestinationChoice(sources=4, channels=VirtualChannels(each=2))
    found = trace(unit, cycles, ["chosen", "circuit_to"])
    assert [chosen for chosen, _ in found[:3]] == [0b0001, 0b0001, 0b0010]
    assert [circuit for _, circuit in found[1:]] == [3, 3, 3, 2]
