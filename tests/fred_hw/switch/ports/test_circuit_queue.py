"""Contract of fred_hw.switch.ports.circuit_queue, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.spec import SwitchSpec
from fred_hw.switch.ports.circuit_queue import CircuitQueue
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

REST = {"enable": 1, "serves": 0b1111}


def flits(length: int, sequence: int = 0, data: int = 0, **known: int) -> list[dict[str, int]]:
    """Return the flits of a packet as inputs."""
    about = {f"i.word.descriptor.{name}": value for name, value in known.items()}
    if sequence:
        about["i.word.descriptor.sequence"] = sequence
    return [
        {
            "i.valid": 1,
            "i.word.first": int(k == 0),
            "i.word.last": int(k == length - 1),
            "i.word.data": data + k,
            **about,
        }
        for k in range(length)
    ]


def run(
    inputs: Sequence[Mapping[str, int]], watch: Sequence[str], spec: SwitchSpec = LINK
) -> list[Any]:
    return trace(CircuitQueue(spec=spec), inputs, watch, **REST)


def test_latency_from_a_flit_to_the_head_is_a_cycle() -> None:
    seen = run([*flits(1, phase=2, peer=1, data=7), {}], ["waiting", "valid", "last", "word"])
    assert (seen[0][:2], seen[1]) == ((0, 0), (1, 1, 1, 7))


def test_throughput_is_a_flit_per_cycle_without_a_gap_between_packets() -> None:
    inputs = [*flits(3, data=10), *flits(2, data=20), *[{}] * 2]
    moves = [{"take": 1, "start": int(k in (1, 4)), "finish": int(k in (3, 5))} for k in range(7)]
    seen = run([one | move for one, move in zip(inputs, moves, strict=True)], ["valid", "word"])
    assert [word for valid, word in seen if valid] == [10, 11, 12, 20, 21]
    assert [valid for valid, _ in seen] == [0, 1, 1, 1, 1, 1, 0]


def test_only_the_packet_that_is_due_waits() -> None:
    # What is due goes to `waiting` in the same cycle.
    inputs = [*flits(1, 3), {"enable": 0}, {"due": 3}]
    assert run(inputs, ["waiting", "late", "early"]) == [(0, 0, 0), (0, 0, 0), (1, 0, 0)]


@pytest.mark.parametrize(("due", "what"), [(4, "late"), (2, "early")])
def test_a_packet_that_is_not_due_is_thrown_away(due: int, what: str) -> None:
    inputs = [one | {"due": due} for one in [*flits(2, 3), *[{}] * 3]]
    seen = run(inputs, ["waiting", "late", "early", "i.used"])
    assert seen[1] == (0, int(what == "late"), int(what == "early"), 1)
    assert [word[:3] for word in seen[2:]] == [(0, 0, 0)] * 3
    assert [word[3] for word in seen] == [0, 1, 1, 0, 0]


def test_a_packet_of_another_generation_is_stale_whatever_its_number_and_phase() -> None:
    watch = ["waiting", "late", "early", "unknown", "stale", "i.used"]
    for number, phase in ((0, 2), (1, 2), (15, 2), (0, 3), (0, 4)):
        about = {"generation": 5, "serves": 0b0111}
        packet = flits(2, number, phase=phase, generation=4)
        seen = run([one | about for one in [*packet, {}, {}]], watch)
        assert [word[:5] for word in seen] == [(0,) * 5, (0, 0, 0, 0, 1), (0,) * 5, (0,) * 5]
        assert [word[5] for word in seen] == [0, 1, 1, 0]
        fits = [one | {"generation": 4} for one in [*packet, {}, {}]]
        assert not any(word[4] for word in run(fits, watch))


def test_a_flow_that_does_not_exist_has_no_generation() -> None:
    three = LINK.with_changes(ports=3)
    for phase, peer, spec in ((5, 0, LINK), (4, 3, three)):
        inputs = [*flits(1, phase=phase, peer=peer, generation=4), {}]
        assert run(inputs, ["unknown", "stale"], spec)[1] == (1, 0)


def test_packets_enter_and_leave_with_their_first_flits_whatever_becomes_of_them() -> None:
    taken = {"start": 1, "take": 1}
    inputs = [*flits(2), {}, taken, {"take": 1, "finish": 1}, *flits(2, 3), *flits(1, 5), {}, {}]
    seen = run(inputs, ["i.valid", "enters", "leaves"])
    assert [enters for _, enters, _ in seen] == [1, 0, 0, 0, 0, 1, 0, 1, 0, 0]
    assert [leaves for *_, leaves in seen] == [0, 0, 0, 1, 0, 0, 1, 0, 1, 0]


def test_a_packet_that_finds_no_room_does_not_enter() -> None:
    room = LINK.protocol.buffer_flits
    inputs = [{"enable": 0, **one} for _ in range(room + 2) for one in flits(1)]
    assert run(inputs, ["enters"]) == [1] * room + [0, 0]


def test_a_phase_that_takes_none_from_here_is_unknown() -> None:
    inputs = [one | {"serves": 0b0111} for one in [*flits(1, phase=3), {}, {}]]
    assert run(inputs, ["waiting", "unknown"]) == [(0, 0), (0, 1), (0, 0)]


def test_the_default_index_is_always_served() -> None:
    inputs = [one | {"serves": 0} for one in [*flits(1, phase=4, peer=3), {}]]
    assert run(inputs, ["waiting", "unknown"])[1] == (1, 0)


def test_the_key_tells_phases_and_peers() -> None:
    assert run([*flits(1, phase=3, peer=2), {}], ["key"])[1] == 3
    assert run([*flits(1, phase=4, peer=2), {}], ["key"])[1] == 4 + 2


def test_a_packet_that_is_not_coming_is_broken_in_the_same_cycle() -> None:
    begun = [flits(3)[0], {"start": 1, "take": 1, "i.incoming": 1}]
    inputs = [*begun, {"i.incoming": 1}, {}, {"finish": 1}, {}]
    assert run(inputs, ["valid", "broken"])[1:] == [(1, 0), (0, 0), (0, 1), (0, 1), (0, 0)]


def test_a_packet_that_the_next_one_cuts_is_broken() -> None:
    inputs = [flits(3)[0], *flits(1, 1), {}]
    moves = [{}, {"start": 1, "take": 1}, {}]
    seen = run([one | move for one, move in zip(inputs, moves, strict=True)], ["valid", "broken"])
    assert seen == [(0, 0), (1, 0), (0, 1)]


def test_what_is_left_of_a_packet_that_has_finished_is_thrown_away() -> None:
    inputs = [flits(3, data=5)[0], *flits(3)[1:], *flits(1, 1, data=9), *[{}] * 2]
    moves = [{}, {"start": 1, "take": 1, "finish": 1}, {}, {}, {}, {}]
    rest = [{"due": int(k > 1)} for k in range(6)]
    both = [a | b | c for a, b, c in zip(inputs, moves, rest, strict=True)]
    seen = run(both, ["valid", "word"])
    assert [word if valid else None for valid, word in seen] == [None, 5, None, None, 9, 9]


def test_a_packet_that_is_not_started_is_stuck_in_the_end() -> None:
    limit = LINK.protocol.stuck_cycles
    seen = run([*flits(1), *[{}] * (limit + 3)], ["waiting", "stuck"])
    assert [cycle for cycle, word in enumerate(seen) if word[1]] == [limit + 1]
    assert [cycle for cycle, word in enumerate(seen) if word[0]] == list(range(1, limit + 1))


def test_reset_forgets_all_packets() -> None:
    inputs = [*flits(2), {"start": 1, "take": 1}, {"rst": 1}, {}]
    seen = run(inputs, ["i.used", "valid"])
    assert seen[2][1] == 1 and seen[4] == (0, 0)
    again = run([*inputs, *flits(1), {}], ["waiting"])
    assert again[-1] == 1
