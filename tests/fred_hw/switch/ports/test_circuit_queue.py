"""Contract of fred_hw.switch.ports.circuit_queue, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.spec import SwitchSpec
from fred_hw.switch.ports.circuit_queue import CircuitQueue
from tests.fred_hw.simulation import high, trace
from tests.fred_hw.specs import LINK

DEPTH, ONLINE = LINK.protocol.buffer_flits, LINK.protocol.online
NUMBERS = 1 << LINK.protocol.fields["sequence"]
REST = {"enable": 1, "serves": 0b1111}
THROWN = ["unknown", "late", "early", "stuck", "stale"]

PREFETCHED, ANSWERED = {"prefetched": 1}, {"answered": 1}
TAKE, FINISH = {"take": 1}, {"finish": 1}
START, END, WHOLE = {"start": 1, **TAKE}, {**TAKE, **FINISH}, {"start": 1, **TAKE, **FINISH}
SPOILT = pytest.mark.parametrize("spoilt", ["changed", "overtaken"])

Inputs = list[dict[str, int]]


def flits(length: int, sequence: int = 0, **known: int) -> Inputs:
    """Return the flits of a packet as inputs."""
    descriptor = {"sequence": sequence, "length": length - 1, **known}
    about = {f"mark.descriptor.{name}": value for name, value in descriptor.items()}
    return [
        {"arrives": 1, "mark.first": int(k == 0), "mark.last": int(k == length - 1), **about}
        for k in range(length)
    ]


def run(
    arrivals: Sequence[Mapping[str, int]],
    watch: Sequence[str],
    moves: Mapping[int, Mapping[str, int]],
    cycles: int,
    spec: SwitchSpec = LINK,
    **rest: int,
) -> list[Any]:
    """Return what is seen in each cycle; ``moves`` are other inputs by cycle."""
    more = [*arrivals, *[{}] * (cycles - len(arrivals))]
    inputs = [{**one, **moves.get(cycle, {})} for cycle, one in enumerate(more)]
    return trace(CircuitQueue(spec=spec), inputs, watch, **{**REST, **rest})


# What becomes of the packet at the head


@pytest.mark.parametrize("answered", [1, 4])
def test_latency_to_waiting_is_two_cycles_after_the_number_is_answered(answered: int) -> None:
    moves = {answered: ANSWERED, answered + 1: {"due": 3}}
    asks, waiting = zip(*run(flits(1, 3), ["asks", "waiting"], moves, 9, due=9), strict=True)
    # The flit is at the head after a cycle; it asks until it is answered.
    assert high(asks) == list(range(1, answered + 1))
    assert high(waiting) == list(range(answered + 2, 9))


def test_latency_to_waiting_is_a_cycle_from_the_head_if_the_number_was_prefetched() -> None:
    moves = {0: PREFETCHED, 1: {"due": 3}}
    seen = run(flits(1, 3), ["asks", "waiting", "valid", "last"], moves, 4, due=9)
    assert seen == [(0, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 1), (0, 1, 1, 1)]


def test_what_comes_to_the_head_is_told_and_what_has_started_a_cycle_later() -> None:
    moves = {0: PREFETCHED, 1: {"due": 3}, 5: {"start": 1, "take": 1}, 8: {"take": 1, "finish": 1}}
    seen = run([*flits(2, 3), *flits(1, 4)], ["anew"], moves, 11)
    assert high(seen) == [1, 6, 9]


@pytest.mark.parametrize("load", range(5))
def test_what_is_served_is_compared_with_the_head_from_the_cycle_of_either_on(load: int) -> None:
    # The second packet is of phase 2, and comes to the head in cycle 3.
    served = [1 if cycle <= load else 2 for cycle in range(6)]
    moves = {k: {"served": phase, "load": int(k == load)} for k, phase in enumerate(served)}
    moves[0] |= PREFETCHED
    moves[2] |= WHOLE
    arrivals = [*flits(1, phase=1), *flits(1, phase=2)]
    seen = run(arrivals, ["of_phase"], moves, 6, following=2)
    heads = [1, 1, 2, 2, 2]
    assert seen[1:] == [int(h == s) for h, s in zip(heads, served[1:], strict=True)]


def test_a_head_that_is_not_enabled_does_not_ask() -> None:
    moves = {cycle: {"enable": cycle % 2} for cycle in range(6)}
    assert run(flits(1), ["asks"], moves, 6) == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("how", ["prefetched", "answered"])
@pytest.mark.parametrize(("due", "what"), [(4, "late"), (11, "late"), (12, "early"), (2, "early")])
def test_a_packet_that_is_not_due_is_thrown_away(due: int, what: str, how: str) -> None:
    known = int(how == "answered")
    watch = ["waiting", *THROWN, "used"]
    seen = run(flits(2, 3), watch, {known: {how: 1}}, 7, due=due)
    *others, used = zip(*seen, strict=True)
    cycles = {name: high(values) for name, values in zip(watch, others, strict=False)}
    gone = 2 + known
    assert cycles == {"waiting": [], **{name: [] for name in THROWN}, what: [gone]}
    # The first flit goes in that cycle and the second behind it, each counted for a cycle more.
    assert list(used) == [0, 1, *[2] * gone, 1, *[0] * (4 - gone)]


def test_a_packet_of_another_generation_is_stale_whatever_its_number_and_phase() -> None:
    for number, phase in ((0, 2), (1, 2), (15, 2), (0, 3)):
        for mine, cycles in ((5, [2]), (4, [])):
            known = {"serves": 0b0111, "generation": mine}
            packet = flits(2, number, phase=phase, generation=4)
            seen = run(packet, ["waiting", *THROWN], {0: PREFETCHED}, 5, **known)
            assert high([word[-1] for word in seen]) == cycles
            assert not cycles or not any(any(word[:-1]) for word in seen)


def test_a_phase_that_does_not_exist_has_no_generation() -> None:
    packet = flits(1, phase=ONLINE + 1, generation=4)
    seen = run(packet, ["unknown", "stale"], {0: PREFETCHED}, 4)
    assert seen == [(0, 0), (0, 0), (1, 0), (0, 0)]


def test_a_phase_that_takes_none_from_here_is_unknown() -> None:
    seen = run(flits(1, phase=3), ["waiting", "unknown"], {0: PREFETCHED}, 4, serves=0b0111)
    assert seen == [(0, 0), (0, 0), (0, 1), (0, 0)]


@pytest.mark.parametrize("number", [0, 7, 200])
def test_a_unicast_is_always_due_whatever_its_number(number: int) -> None:
    packet = flits(1, number, phase=ONLINE)
    told = {"serves": 0, "due": 3, "generation": 5}
    seen = run(packet, ["waiting", *THROWN], {0: PREFETCHED}, 4, **told)
    assert seen[2:] == [(1, 0, 0, 0, 0, 0)] * 2


def test_what_is_known_of_the_packet_is_reported() -> None:
    known = {"phase": 2, "destination": 127, "source": 96, "sequence": 9, "generation": 5}
    names = [f"descriptor.{name}" for name in (*known, "length")]
    exits = [one | {"mark.exit": 3} for one in flits(3, **known)]
    assert run(exits, [*names, "exit"], {}, 2)[1] == (*known.values(), 2, 3)


@SPOILT
@pytest.mark.parametrize("cycle", range(1, 6))
def test_a_verdict_is_thrown_away_and_asked_again(cycle: int, spoilt: str) -> None:
    # Asked and answered in cycle 1, the number is there in cycle 2, the packet waits from 3 on.
    moves: dict[int, dict[str, int]] = {1: dict(ANSWERED), cycle + 2: dict(ANSWERED)}
    moves.setdefault(cycle, {})[spoilt] = 1
    asks, waiting = zip(*run(flits(1), ["asks", "waiting"], moves, 10), strict=True)
    assert high(asks) == [1, cycle + 1, cycle + 2]
    assert high(waiting) == [*range(3, cycle + 1), *range(cycle + 4, 10)]


@SPOILT
@pytest.mark.parametrize("cycle", range(4))
def test_what_was_prefetched_is_thrown_away_and_asked_again(cycle: int, spoilt: str) -> None:
    moves = {0: dict(PREFETCHED), 1: {}, 2: {}, 3: {}}
    moves[cycle][spoilt] = 1
    asks, waiting = zip(*run(flits(1), ["asks", "waiting"], moves, 6), strict=True)
    assert high(asks) == list(range(cycle + 1, 6))
    assert high(waiting) == list(range(2, cycle + 1))


@SPOILT
@pytest.mark.parametrize(("due", "generation"), [(1, 0), (NUMBERS - 1, 0), (0, 1)])
def test_a_packet_is_not_thrown_away_for_a_number_that_counts_no_more(
    due: int, generation: int, spoilt: str
) -> None:
    wrong = {"due": due, "generation": generation}
    for cycle, cycles in ((1, []), (2, []), (3, [3])):
        moves: dict[int, dict[str, int]] = {1: dict(ANSWERED), 2: dict(wrong), 3: {}}
        moves[cycle][spoilt] = 1
        seen = run(flits(1), ["asks", *THROWN], moves, 6)
        assert high([int(any(word[1:])) for word in seen]) == cycles
        assert seen[-1][0] == int(not cycles)


def test_the_second_answer_counts() -> None:
    moves = {0: PREFETCHED, 1: {"due": 3}, 3: {"overtaken": 1}, 4: ANSWERED, 5: {"due": 4}}
    seen = run(flits(1, 3), ["waiting", "late"], moves, 8)
    assert seen == [(0, 0)] * 2 + [(1, 0)] * 2 + [(0, 0)] * 2 + [(0, 1), (0, 0)]


def test_a_packet_that_is_not_started_is_stuck_in_the_end() -> None:
    limit = LINK.protocol.head_of_line_timeout_cycles
    seen = run(flits(1), ["waiting", "stuck", "leaves", "asks"], {0: PREFETCHED}, limit + 5)
    waiting, *gone, asks = zip(*seen, strict=True)
    assert high(waiting) == list(range(2, limit + 2)) and not any(asks)
    assert [high(values) for values in gone] == [[limit + 2]] * 2


@SPOILT
def test_a_packet_is_not_stuck_if_it_is_asked_for_again_in_its_last_cycle(spoilt: str) -> None:
    limit = LINK.protocol.head_of_line_timeout_cycles
    seen = run(flits(1), ["stuck", "asks"], {0: PREFETCHED, limit + 1: {spoilt: 1}}, limit + 5)
    assert high([stuck for stuck, _ in seen]) == []
    assert high([asks for _, asks in seen]) == [limit + 2, limit + 3, limit + 4]


# What is prefetched


def test_prefetched_does_not_count_for_a_flit_behind_another() -> None:
    # Packets of two flows: one that waits and goes in cycle 4, and one that comes before or then.
    for came, straight in ((1, False), (2, False), (3, False), (4, True), (5, True)):
        for between in (False, True):
            second = flits(1, 7, phase=1)
            # One of a third flow between them, late.
            third = flits(1, 0, phase=2) if between and came > 1 else []
            arrivals = [*flits(1), *[{}] * (came - 1 - len(third)), *third, *second]
            moves = {0: PREFETCHED, 4: dict(WHOLE), 8: ANSWERED}
            moves[came] = {**moves.get(came, {}), **PREFETCHED}
            moves[came + 1] = {**moves.get(came + 1, {}), "due": 7}
            seen = run(arrivals, ["waiting", "asks", "descriptor.phase"], moves, 8)
            first, then = seen[:5], seen[max(came, 4) + 1]
            assert [word[0] for word in first] == [0, 0, 1, 1, 1]
            if third:
                assert then == (0, 1, 2)
            else:
                assert then == (0, int(not straight), 1)
                assert seen[max(came, 4) + 2][0] == int(straight)


def test_prefetched_does_not_count_inside_a_packet() -> None:
    # The first of a packet that goes on comes to the head alone; another flow cuts it short.
    for came in (2, 3, 5):
        arrivals = [flits(3)[0], *[{}] * (came - 1), *flits(1, 7, phase=1)]
        moves = {0: PREFETCHED, 2: START, 7: FINISH}
        moves[came] = {**moves.get(came, {}), **PREFETCHED}
        moves[came + 1] = {"due": 7}
        seen = run(arrivals, ["waiting", "asks", "broken", *THROWN], moves, 12)
        assert high([word[0] for word in seen]) == [2]
        assert high([word[1] for word in seen]) == [8, 9, 10, 11]
        assert not any(any(word[3:]) for word in seen)


def test_prefetched_counts_in_the_cycle_in_which_a_packet_finishes() -> None:
    for end in (WHOLE, FINISH):
        arrivals = [flits(3)[0], {}, {}, *([{}] if end is FINISH else []), *flits(1, 7, phase=1)]
        came = len(arrivals) - 1
        moves = {0: PREFETCHED, 3: START, came: {**end, **PREFETCHED}, came + 1: {"due": 7}}
        seen = run(arrivals, ["waiting", "asks"], moves, came + 4)
        assert seen[came + 1 :] == [(0, 0), (1, 0), (1, 0)]


# Packets that follow others


def test_throughput_is_a_flit_per_cycle_without_a_gap_between_packets() -> None:
    arrivals = [*flits(3, 4), *flits(2, 5), *flits(4, 6)]
    moves: dict[int, dict[str, int]] = {cycle: dict(TAKE) for cycle in range(2, 11)}
    for cycle, move in ((2, START), (4, END), (5, START), (6, END), (7, START), (10, END)):
        moves[cycle] = dict(move)
    moves |= {0: PREFETCHED, 1: {"due": 4}}
    watch = ["valid", "last", "waiting", "asks", "descriptor.sequence", "place"]
    seen = run(arrivals, watch, moves, 12, due=20)
    assert high([word[0] for word in seen]) == list(range(2, 11))
    assert high([word[1] & word[0] for word in seen]) == [4, 6, 10]
    assert high([word[2] for word in seen]) == [2, 5, 7]
    assert not any(word[3] for word in seen)
    numbers = [number for length, number in ((3, 4), (2, 5), (4, 6)) for _ in range(length)]
    assert [word[4:] for word in seen[2:11]] == [(n, k) for k, n in enumerate(numbers)]


@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_packets_of_one_flit_follow_each_other_in_every_cycle(ahead: int) -> None:
    # Their numbers go round, and so do the places; flits wait behind the head or do not.
    first, count = NUMBERS - 4, 3 * DEPTH
    arrivals = [one for k in range(count) for one in flits(1, (first + k) % NUMBERS)]
    start = 2 + ahead
    moves = {start + k: WHOLE for k in range(count)}
    moves |= {0: PREFETCHED, 1: {"due": first}}
    watch = ["waiting", "valid", "asks", "place", "descriptor.sequence", *THROWN]
    seen = run(arrivals, watch, moves, start + count + 1, due=9)
    for k in range(count):
        expected = (1, 1, 0, k % DEPTH, (first + k) % NUMBERS, *[0] * len(THROWN))
        assert seen[start + k] == expected
    assert seen[-1][:3] == (0, 0, 0)


@pytest.mark.parametrize("pause", [0, 1, 2, 7])
def test_a_packet_that_comes_later_follows_without_asking(pause: int) -> None:
    arrivals = [*flits(2, 4), *[{}] * (2 + pause), *flits(1, 5)]
    moves = {0: PREFETCHED, 1: {"due": 4}, 2: START, 3: END}
    seen = run(arrivals, ["waiting", "asks"], moves, 8 + pause, due=9)
    assert high([waiting for waiting, _ in seen]) == [2, *range(5 + pause, 8 + pause)]
    assert not any(asks for _, asks in seen)


@pytest.mark.parametrize(
    "other",
    [{"sequence": 6}, {"sequence": 4}, {"phase": 1}, {"phase": ONLINE}, {"generation": 3}],
    ids=lambda other: next(iter(other)),
)
def test_a_packet_that_does_not_follow_asks(other: dict[str, int]) -> None:
    flow = {"phase": 2, "generation": 2}
    for came in (1, 2, 4):
        then = flits(1, **{**flow, "sequence": 5, **other})
        arrivals = [*flits(1, 4, **flow), *[{}] * (came - 1), *then]
        moves = {0: PREFETCHED, 1: {"due": 4, "generation": 2}, 2: WHOLE}
        seen = run(arrivals, ["waiting", "asks"], moves, 8)
        assert high([waiting for waiting, _ in seen]) == [2]
        assert high([asks for _, asks in seen]) == list(range(max(came, 2) + 1, 8))


@pytest.mark.parametrize("same", [True, False])
def test_a_unicast_follows_another_from_whatever_source_to_whatever_exit(same: bool) -> None:
    first = [one | {"mark.exit": 2} for one in flits(1, 4, phase=ONLINE, source=96)]
    then = [one | {"mark.exit": 2 if same else 1} for one in flits(1, 77, phase=ONLINE, source=97)]
    seen = run([*first, *then], ["waiting", "asks"], {0: PREFETCHED, 2: WHOLE}, 6)
    assert seen[3:] == [(1, 0)] * 3


def test_a_packet_behind_one_that_was_thrown_away_asks() -> None:
    for gone, due in ((2, 9), (2 + LINK.protocol.head_of_line_timeout_cycles, 4)):
        moves = {0: PREFETCHED, 1: {"due": due}}
        asks = run([*flits(1, 4), *flits(1, 5)], ["asks"], moves, gone + 3)
        assert high(asks) == [gone + 1, gone + 2]


@SPOILT
def test_a_packet_behind_what_counts_no_more_asks(spoilt: str) -> None:
    # The first packet starts in cycle 2 and ends in `end`; the second comes to the head at `head`.
    for length, came, end, head in ((1, 1, 2, 3), (2, 2, 3, 4), (2, 3, 3, 4), (2, 6, 3, 7)):
        arrivals = [*flits(length), *[{}] * (came - length), *flits(1, 1)]
        for cycle in range(2, head + 2):
            moves = {0: PREFETCHED, 2: dict(START)}
            moves[end] = {**moves.get(end, {}), **END}
            moves[cycle] = {**moves.get(cycle, {}), spoilt: 1}
            seen = run(arrivals, ["waiting", "asks"], moves, 12)
            since = max(head, cycle + 1)
            assert high([waiting for waiting, _ in seen]) == [2, *range(head, cycle + 1)]
            assert high([asks for _, asks in seen]) == list(range(since, 12))


@SPOILT
def test_a_packet_that_follows_one_judged_anew_does_not_ask(spoilt: str) -> None:
    arrivals = [*flits(1), *flits(1, 1)]
    moves = {0: PREFETCHED, 3: {spoilt: 1}, 4: ANSWERED, 6: WHOLE}
    seen = run(arrivals, ["waiting", "asks"], moves, 9)
    assert high([waiting for waiting, _ in seen]) == [2, 3, 6, 7, 8]
    assert high([asks for _, asks in seen]) == [4]


# Packets that end before their last flit


def test_a_packet_that_is_not_coming_is_broken_in_the_same_cycle() -> None:
    moves = {0: PREFETCHED, 2: START, 5: FINISH}
    coming = {cycle: {"incoming": int(cycle < 4)} for cycle in range(7)}
    moves = {cycle: {**one, **moves.get(cycle, {})} for cycle, one in coming.items()}
    seen = run(flits(3)[:1], ["valid", "broken"], moves, 7)
    assert seen[2:] == [(1, 0), (0, 0), (0, 1), (0, 1), (0, 0)]


def test_a_flit_that_comes_late_goes_on_its_packet() -> None:
    first, *others = flits(3)
    moves = {0: PREFETCHED, 2: START, 5: TAKE, 6: END}
    seen = run([first, {}, {}, {}, *others], ["valid", "last", "broken"], moves, 8, incoming=1)
    assert [word[0] for word in seen] == [0, 0, 1, 0, 0, 1, 1, 0]
    assert seen[6][1] == 1 and not any(word[2] for word in seen)


@pytest.mark.parametrize("came", [1, 2, 3, 5])
def test_a_packet_that_the_next_one_cuts_is_broken_and_the_next_one_asks(came: int) -> None:
    arrivals = [flits(3)[0], *[{}] * (came - 1), *flits(1, 1)]
    moves = {0: PREFETCHED, 2: START, 7: FINISH, 9: ANSWERED, 10: {"due": 1}}
    watch = ["valid", "broken", "asks", "waiting"]
    seen = run(arrivals, watch, moves, 13, incoming=1)
    valid, broken, asks, waiting = zip(*seen, strict=True)
    # Broken from the cycle on in which the next one is at the head; that stays until `finish`.
    assert high(broken) == list(range(max(came, 2) + 1, 8))
    assert (high(valid), high(waiting)) == ([2, 11, 12], [2, 11, 12])
    assert high(asks) == [8, 9]


def test_a_packet_follows_one_that_finishes_in_the_cycle_in_which_it_comes_up() -> None:
    for came, moves in ((1, {2: WHOLE}), (2, {2: WHOLE}), (5, {2: START, 5: FINISH})):
        arrivals = [flits(3)[0], *[{}] * (came - 1), *flits(1, 1)]
        seen = run(arrivals, ["waiting", "asks"], {0: PREFETCHED, **moves}, 8, incoming=1)
        assert high([waiting for waiting, _ in seen]) == [2, *range(max(came, 2) + 1, 8)]
        assert not any(asks for _, asks in seen)


def test_what_is_left_of_a_packet_that_has_finished_is_thrown_away() -> None:
    arrivals = [*flits(4), *flits(2, 1)]
    moves = {0: PREFETCHED, 1: {"due": 0}, 2: WHOLE, 6: START, 7: END}
    watch = ["valid", "asks", "place", "used", "leaves"]
    seen = run(arrivals, watch, moves, 10, due=9)
    valid, asks, places, used, leaves = zip(*seen, strict=True)
    assert high(valid) == [2, 6, 7] and not any(asks)
    assert places[2:8] == (0, 1, 2, 3, 4, 5)
    assert used == (0, 1, 2, 3, 3, 3, 3, 2, 1, 0)
    assert high(leaves) == [2, 6]


def test_packets_enter_and_leave_with_their_first_flits_whatever_becomes_of_them() -> None:
    arrivals = [*flits(2), *flits(2, 5), *flits(1, 9)]
    # One goes, one is early, and one is late.
    moves = {
        0: PREFETCHED,
        2: START,
        3: END,
        4: ANSWERED,
        5: {"due": 1},
        8: ANSWERED,
        9: {"due": 10},
    }
    seen = run(arrivals, ["enters", "leaves", "early", "late"], moves, 12)
    assert [high(values) for values in zip(*seen, strict=True)] == [
        [0, 2, 4],
        [2, 6, 10],
        [6],
        [10],
    ]


# Space


def test_a_packet_that_finds_no_space_does_not_enter() -> None:
    seen = run(flits(1) * (DEPTH + 2), ["ready", "enters", "used", "tail"], {}, DEPTH + 2, enable=0)
    assert seen[:DEPTH] == [(1, 1, k, k) for k in range(DEPTH)]
    assert seen[DEPTH:] == [(0, 0, DEPTH, 0)] * 2


def test_space_is_free_a_cycle_after_a_flit_has_gone() -> None:
    packets = [one for number in range(DEPTH) for one in flits(1, number)]
    gone = DEPTH + 1
    # One comes in each cycle from then on, and one goes in two of them.
    arrivals = [*packets, {}, *[flits(1, 30)[0]] * 5]
    moves = {0: PREFETCHED, gone: WHOLE, gone + 1: WHOLE}
    seen = run(arrivals, ["ready", "enters", "used", "tail"], moves, gone + 5)
    assert seen[gone:] == [
        (0, 0, DEPTH, 0),
        (0, 0, DEPTH, 0),
        (1, 1, DEPTH - 1, 0),
        (1, 1, DEPTH - 1, 1),
        (0, 0, DEPTH, 2),
    ]


def test_reset_forgets_all_packets() -> None:
    moves = {0: PREFETCHED, 2: START, 3: TAKE}
    watch = ["used", "valid", "waiting", "broken", "tail", "place", "asks", *THROWN]
    for when in range(1, 6):
        before = {cycle: move for cycle, move in moves.items() if cycle <= when}
        before[when] = {**before.get(when, {}), "rst": 1}
        # A packet that would have followed asks.
        arrivals = [*flits(6)[: when + 1], *flits(1, 1)]
        seen = run(arrivals, watch, before, when + 4)
        assert any(any(word) for word in seen[: when + 1])
        nothing = (0,) * len(watch)
        assert seen[when + 1 :] == [nothing, *[(1, 0, 0, 0, 1, 0, 1, *[0] * len(THROWN))] * 2]
