"""Contract of fred_hw.endpoint.flow_sender, cycle by cycle."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from fred_hw.endpoint.flow_sender import FlowSender
from fred_hw.protocol import Kind
from tests.fred_hw.simulation import known, port, simulate, trace
from tests.fred_hw.specs import LINK

WINDOW, TIMEOUT = LINK.protocol.window_packets, LINK.protocol.timeout_cycles
SIZE = LINK.protocol.packet_flits


def packet(length: int = 1, data: int = 0) -> list[dict[str, int]]:
    return [
        {"i.valid": 1, "i.data": data + k, "i.last": int(k == length - 1)} for k in range(length)
    ]


def said(kind: Kind, number: int, phase: int = 0) -> dict[str, int]:
    message = {"kind": int(kind), "sequence": number, "phase": phase}
    return {"message.valid": 1, **{f"message.payload.{k}": v for k, v in message.items()}}


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str], takes: int = 1) -> list[Any]:
    """Return what ports show; what waits is taken, but where an input ``takes`` is 0."""
    unit = known(FlowSender(spec=LINK))
    driven = dict.fromkeys((name for one in inputs for name in one if name != "takes"), 0)
    seen: list[Any] = []

    async def bench(ctx: Any) -> None:
        for one in inputs:
            for name, value in (driven | dict(one)).items():
                if name != "takes":
                    ctx.set(port(unit, name), value)
            ctx.set(unit.o.take, ctx.get(unit.o.waiting) & one.get("takes", takes))
            values = tuple(ctx.get(port(unit, name)) for name in watch)
            seen.append(values[0] if len(watch) == 1 else values)
            await ctx.tick()

    simulate(unit, bench)
    return seen


def sent(inputs: Sequence[Mapping[str, int]]) -> list[tuple[int, int]]:
    """Return the cycle in which each flit is there, and the number of its packet."""
    seen = run(inputs, ["o.take", "o.descriptor.sequence"])
    return [
        (cycle, number)
        for cycle, ((taken, _), (_, number)) in enumerate(pairwise(seen), start=1)
        if taken
    ]


def test_latency_from_the_last_flit_to_a_packet_that_waits_is_two_cycles() -> None:
    assert run([*packet(3), {}, {}, {}], ["o.waiting"], takes=0) == [0, 0, 0, 0, 1, 1]


def test_latency_from_a_flit_taken_to_the_flit_is_a_cycle() -> None:
    inputs = [one | {"flow.phase": 3} for one in [{}, *packet(2, data=7), *[{}] * 4]]
    watch = ["o.take", "o.ends", "o.data", "o.index", "o.last", "o.descriptor.length"]
    seen = run(inputs, [*watch, "o.descriptor.phase"])
    assert [word[0] for word in seen] == [0, 0, 0, 0, 1, 1, 0]
    assert [word[1] for word in seen[4:6]] == [0, 1]
    assert [word[2:] for word in seen[5:]] == [(7, 0, 0, 1, 3), (8, 1, 1, 1, 3)]


def test_throughput_is_a_flit_per_cycle_in_and_out_without_a_gap_between_packets() -> None:
    inputs = [one for k in range(WINDOW) for one in packet(2, 10 * k)]
    seen = run([*inputs, *[{}] * 4], ["i.ready", "o.take", "o.data"])
    assert [word[0] for word in seen[: 2 * WINDOW]] == [1] * (2 * WINDOW)
    assert [word[1] for word in seen[3 : 3 + 2 * WINDOW]] == [1] * (2 * WINDOW)
    data = [word[2] for word in seen[4 : 4 + 2 * WINDOW]]
    assert data == [10 * k + n for k in range(WINDOW) for n in range(2)]


def test_a_packet_ends_at_the_largest_size() -> None:
    seen = run([*[{"i.valid": 1}] * SIZE, *[{}] * (SIZE + 2)], ["o.take", "o.ends"])
    assert [word[1] for word in seen if word[0]] == [0] * (SIZE - 1) + [1]


def test_no_more_packets_are_taken_than_the_window_has_space_for() -> None:
    seen = run([*packet() * (WINDOW + 3), said(Kind.ACK, 1), {}], ["i.ready"])
    assert seen == [*[1] * WINDOW, *[0] * 4, 1]


def test_idle_is_low_from_the_first_flit_to_the_ack() -> None:
    seen = run([*packet(2), *[{}] * 4, said(Kind.ACK, 1), {}], ["idle"])
    assert seen == [1, *[0] * 6, 1]


def test_a_nack_sends_packets_again_two_cycles_later() -> None:
    inputs = [*packet() * 3, *[{}] * 4, said(Kind.NACK, 1), *[{}] * 5]
    assert run(inputs, ["retransmit"]) == [int(cycle == 7) for cycle in range(len(inputs))]
    assert sent(inputs) == [(3, 0), (4, 1), (5, 2), (9, 1), (10, 2)]


@pytest.mark.parametrize(("number", "phase"), [(2, 0), (0, 1), (5, 0)])
def test_a_nack_of_what_was_not_sent_or_of_another_flow_changes_nothing(
    number: int, phase: int
) -> None:
    inputs = [*packet() * 2, *[{}] * 3, said(Kind.NACK, number, phase), *[{}] * 4]
    assert set(run(inputs, ["retransmit"])) == {0}
    assert sent(inputs) == [(3, 0), (4, 1)]


def test_without_an_ack_the_oldest_packet_is_sent_again_after_a_timeout() -> None:
    inputs = [*packet(), *[{}] * (TIMEOUT + 8)]
    # It begins in cycle 2, and the timer runs from the next one on.
    assert sent(inputs) == [(3, 0), (2 + 1 + TIMEOUT + 2, 0)]


def test_what_is_acknowledged_while_it_is_to_be_sent_again_is_left_out() -> None:
    inputs = [*packet() * 3, *[{}] * 4, said(Kind.NACK, 0) | {"takes": 0}]
    inputs += [said(Kind.ACK, 2) | {"takes": 0}, *[{}] * 5]
    assert sent(inputs) == [(3, 0), (4, 1), (5, 2), (10, 2)]


def test_an_ack_of_all_stops_the_timer() -> None:
    inputs = [*packet() * 2, *[{}] * 4, said(Kind.ACK, 2), *[{}] * (2 * TIMEOUT)]
    assert set(run(inputs, ["retransmit"])) == {0}


def test_another_flow_holds_the_packets_back_in_the_same_cycle() -> None:
    assert run([{"flow.phase": k} for k in (0, 1, 1)], ["i.ready"]) == [1, 0, 1]
    online = LINK.protocol.online
    inputs = [{"flow.phase": online, "flow.peer": peer} for peer in (0, 0, 1)]
    assert run(inputs, ["i.ready"]) == [0, 1, 0]


def test_each_flow_goes_on_with_its_number() -> None:
    turn = [{}, *packet(), {}, {}, {}]
    inputs: list[dict[str, int]] = []
    for phase, number in ((0, 1), (2, 1), (0, 2)):
        inputs += [one | {"flow.phase": phase} for one in [*turn, said(Kind.ACK, number, phase)]]
    watch = ["o.take", "o.descriptor.sequence", "o.descriptor.phase"]
    seen = run([*inputs, {}], watch)
    after = [word[1:] for (taken, *_), word in pairwise(seen) if taken]
    assert after == [(0, 0), (0, 2), (1, 0)]


def turn(phase: int, number: int, generation: int = 0) -> list[dict[str, int]]:
    """Return a packet of a phase, sent and acknowledged: ``number`` is the one behind it."""
    flow = {"flow.phase": phase, "flow.generation": generation}
    ack = said(Kind.ACK, number, phase) | {"message.payload.generation": generation}
    return [one | flow for one in [{}, *packet(), {}, {}, {}, ack]]


def begun(inputs: list[dict[str, int]]) -> list[tuple[int, int]]:
    """Return phase and number of the packets that are sent."""
    watch = ["o.take", "o.descriptor.phase", "o.descriptor.sequence"]
    return [word[1:] for (taken, *_), word in pairwise(run([*inputs, {}], watch)) if taken]


def test_a_generation_that_comes_round_starts_at_0() -> None:
    inputs = [*turn(1, 1), *turn(1, 1, generation=7), *turn(1, 1)]
    assert begun(inputs) == [(1, 0), (1, 0), (1, 0)]


@pytest.mark.parametrize(("forgets", "numbers"), [(0, (0, 0, 1, 1)), (0b10, (0, 0, 0, 1))])
def test_a_phase_is_forgotten_whatever_flow_is_set(forgets: int, numbers: tuple[int, ...]) -> None:
    """Phase 1 is in the ledger, or set, when it is forgotten; phase 2 keeps its number."""
    first = [*turn(1, 1), *turn(2, 1), {"forget": forgets, "flow.phase": 2}]
    inputs = [*first, *turn(1, numbers[2] + 1), *turn(2, 2)]
    assert begun(inputs) == list(zip((1, 2, 1, 2), numbers, strict=True))
    inputs = [*turn(2, 1), *turn(1, 1), {"forget": forgets, "flow.phase": 1}]
    inputs += [*turn(1, numbers[2] + 1), *turn(2, 2)]
    assert begun(inputs) == list(zip((2, 1, 1, 2), numbers, strict=True))


@pytest.mark.parametrize("clears", [True, False])
def test_clear_starts_the_numbers_at_0(clears: bool) -> None:
    inputs = [
        *packet(),
        {},
        {},
        {},
        said(Kind.ACK, 1),
        {"clear": int(clears)},
        *packet(),
        *[{}] * 4,
    ]
    assert sent(inputs) == [(3, 0), (9, 0 if clears else 1)]


def test_reset_forgets_all_packets_and_starts_with_number_0() -> None:
    inputs = [*packet() * 3, {}, {"rst": 1}, {}, *packet(), {}, {"o.take": 1}, {}]
    seen = trace(FlowSender(spec=LINK), inputs, ["idle", "o.waiting", "o.descriptor.sequence"])
    assert seen[4][:2] == (0, 1)
    assert seen[5][:2] == (1, 0)
    assert [word[1] for word in seen[5:]] == [0, 0, 0, 1, 0]
    assert seen[-1][2] == 0


def test_packets_of_another_generation_start_at_0_and_carry_it() -> None:
    watch = ["o.take", "o.descriptor.sequence", "o.descriptor.generation"]
    before = [*packet(), *packet(), {}, {}, {}, said(Kind.ACK, 2), {}]
    after = [one | {"flow.generation": 3} for one in [{}, *packet(), *[{}] * 4]]
    seen = run([*before, *after], watch)
    flits = [word[1:] for (taken, *_), word in pairwise(seen) if taken]
    assert flits == [(0, 0), (1, 0), (0, 3)]


@pytest.mark.parametrize("generation", [2, 3])
def test_acks_and_nacks_of_another_generation_are_ignored(generation: int) -> None:
    about = {"flow.generation": 3, "message.payload.generation": generation}
    inputs = [{}, *packet(), {}, {}, {}, said(Kind.NACK, 0), {}, said(Kind.ACK, 1), {}]
    seen = run([one | about for one in inputs], ["retransmit", "idle"])
    assert sum(back for back, _ in seen) == seen[-1][1] == int(generation == 3)
