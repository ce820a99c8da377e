"""Contract of fred_hw.switch.flow_sequencer, cycle by cycle."""

import pytest

from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.flow_sequencer import FlowSequencer
from tests.fred_hw.simulation import trace

SPEC = SwitchSpec(ports=3, lanes=1, protocol=ProtocolSpec(phases=2))

# The flow takes from ports 0 and 2 and gives to port 1.
FLOW = {"members": 0b101, "ends": 0b010}
READY = {"ports.may": 1, "ports.here": 0b101, "ports.space": 0b010, "ports.valid": 0b101}
STATE = ["start", "fire", "ending", "under_way", "stays"]


def states(cycles: list[dict[str, int]], watch: list[str]) -> list[tuple[int, ...]]:
    return trace(FlowSequencer(spec=SPEC), [FLOW | cycle for cycle in cycles], watch)


def test_without_latency_a_packet_starts_when_all_is_there() -> None:
    lacking = [{**READY, name: 0} for name in ("ports.may", "ports.space")]
    lacking += [{**READY, "ports.here": here} for here in (0b001, 0b100, 0b010)]
    lacking += [READY | {"members": 0}]
    seen = states([*lacking, READY, READY], STATE)
    assert seen == [(0, 0, 0, 0, 0)] * 6 + [(1, 1, 0, 0, 0), (0, 1, 0, 1, 1)]


def test_throughput_is_a_flit_per_cycle_without_a_gap_between_packets() -> None:
    last = {**READY, "ports.last": 0b101}
    seen = states([READY, READY, last, READY, last, last, last, {}], STATE)
    assert seen == [
        (1, 1, 0, 0, 0),
        (0, 1, 0, 1, 1),
        (0, 1, 1, 1, 0),
        (1, 1, 0, 0, 0),
        (0, 1, 1, 1, 0),
        (1, 1, 1, 0, 0),
        (1, 1, 1, 0, 0),
        (0, 0, 0, 0, 0),
    ]


def test_a_missing_flit_stops_all_inputs_but_not_for_ever() -> None:
    # That one input is at the end of its packet ends nothing before the others have their flit.
    waits = {**READY, "ports.valid": 0b100, "ports.last": 0b100}
    assert states([READY, waits, waits, READY], ["fire", "ending", "under_way", "stays"]) == [
        (1, 0, 0, 0),
        (0, 0, 1, 1),
        (0, 0, 1, 1),
        (1, 0, 1, 1),
    ]


def test_a_packet_that_has_started_needs_neither_space_nor_leave() -> None:
    goes_on = {"ports.valid": 0b101}
    seen = states([READY, goes_on, goes_on | {"ports.last": 0b101}], STATE)
    assert seen == [(1, 1, 0, 0, 0), (0, 1, 0, 1, 1), (0, 1, 1, 1, 0)]


@pytest.mark.parametrize(
    ("end", "bad", "longer"),
    [
        ({"ports.last": 0b101}, 0, 0),
        ({"ports.last": 0b001}, 1, 0b100),
        ({"ports.last": 0b110}, 1, 0b001),
        ({"ports.valid": 0b001, "ports.broken": 0b100}, 1, 0),
        ({"ports.last": 0b001, "ports.broken": 0b100, "ports.valid": 0b001}, 1, 0),
        ({"ports.last": 0b111, "ports.broken": 0b010}, 0, 0),
    ],
    ids=["equal", "longer 2", "longer 0", "broken", "broken at the end", "other flow"],
)
def test_the_end_is_bad_unless_all_inputs_end_together(
    end: dict[str, int], bad: int, longer: int
) -> None:
    seen = states([READY, READY | end, {}], ["ending", "bad", "longer"])
    assert seen == [(0, 0, 0), (1, bad, longer), (0, 0, 0)]


def test_what_goes_in_beside_a_start_is_told_without_knowing_what_may_start() -> None:
    waits, end = {**READY, "ports.valid": 0}, {**READY, "ports.last": 0b101, "ports.may": 0}
    seen = states([end, READY, waits, end, end], ["able", "goes", "closes", "fire"])
    assert seen == [(1, 0, 1, 0), (1, 0, 0, 1), (0, 0, 0, 0), (0, 1, 1, 1), (1, 0, 1, 0)]


def test_the_descriptor_is_that_of_the_first_input() -> None:
    cycle = {f"ports.descriptors[{k}]": 5 + k for k in range(3)}
    seen = states(
        [cycle | {"members": members} for members in (0b101, 0b110, 0b100)], ["descriptor"]
    )
    assert seen == [5, 6, 7]


def test_reset_forgets_the_packet() -> None:
    assert states([READY, {"rst": 1}, {}], ["under_way"]) == [0, 1, 0]
