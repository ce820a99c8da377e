"""Tests of fred_hw.ace.channel."""

from collections.abc import Callable, Container
from typing import Any

import pytest

from fred_hw.ace.channel import AceChannel
from fred_hw.ace.work import flow_layout, receive_layout, work_layout
from tests.fred_hw.simulation import known, simulate, trace
from tests.fred_hw.specs import LINK

from .works import SPEC, packed, ring_work

FLOW = {"phase": 1, "peer": 0, "generation": 3}
DIRECT = packed(work_layout(SPEC), direct=2, destination=40, sets_receive=1, receive=FLOW)
SENDS = packed(
    work_layout(SPEC),
    total=6,
    block=6,
    message=8,
    parts=1,
    steps=1,
    last_fsm=2,
    sets_send=1,
    send=FLOW,
)


def run(work: int, cycles: list[dict[str, int]], watch: tuple[str, ...], **rest: int) -> list[Any]:
    first = {"i.valid": 1, "i.payload": work}
    return trace(AceChannel(spec=SPEC), [first, *cycles], watch, **rest)


def test_latency_of_what_is_received_and_of_the_end() -> None:
    taken = [{}] * 8 + [{"receive.take": 1}] * 2
    stored = [{"receive.stored": 1}] * 2
    watch = ("receive.valid", "receive.payload", "done", "receive_flow", "busy")
    seen = run(DIRECT, [*taken, *stored, *[{}] * 6], watch)
    assert next(k for k, one in enumerate(seen) if one[0]) == 5
    words = [packed(receive_layout(SPEC), address=40, store=1)]
    words.append(packed(receive_layout(SPEC), place=1, address=41, store=1, last=1))
    assert [seen[9][1], seen[10][1]] == words
    assert [k for k, one in enumerate(seen) if one[2]] == [14]
    assert seen[14][3] == packed(flow_layout(SPEC), **FLOW)
    assert [one[4] for one in seen[14:16]] == [1, 0]


def test_throughput_of_a_packet_after_the_chunk_has_come() -> None:
    """A chunk is asked for, loaded, and sent flit by flit, cut into packets of four."""
    cycles: list[dict[str, int]] = [{}] * 24 + [{"begun": 1}] + [{}] * 30
    watch = ("requests.valid", "send.valid", "send.last", "done")
    seen = run(SENDS, cycles, watch, idle=1, **{"requests.ready": 1, "send.take": 1})
    assert sum(one[0] for one in seen) == 6
    sent = [k for k, one in enumerate(seen) if one[1]]
    assert sent == list(range(sent[0], sent[0] + 6))
    assert [seen[k][2] for k in sent] == [0, 0, 0, 1, 0, 1]
    assert sum(one[3] for one in seen) == 1


def in_ring(
    work: int,
    cycles: int,
    loaded: Container[int],
    holds: Callable[[int, int], bool] = lambda cycle, sent: False,
) -> dict[str, list[int]]:
    """Return when flits of a ring are sent and expected, and when it ends; chunks begin at 20.

    ``holds`` says whether none leaves in a cycle, by how many have.
    """
    unit = known(AceChannel(spec=SPEC))
    seen: dict[str, list[int]] = {name: [] for name in ("sent", "expected", "done")}

    async def bench(ctx: Any) -> None:
        done = 0
        for name, value in ((unit.i.payload, work), (unit.idle, 1), (unit.requests.ready, 1)):
            ctx.set(name, value)
        for cycle in range(cycles):
            ctx.set(unit.i.valid, int(cycle == 0))
            ctx.set(unit.begun, int(cycle == 20))
            ctx.set(unit.loaded, int(cycle in loaded))
            ctx.set(unit.receive.done[0], done)
            there = ctx.get(unit.receive.valid)
            done = there & ctx.get(unit.receive.payload.last)
            take = int(ctx.get(unit.send.valid) and not holds(cycle, len(seen["sent"])))
            ctx.set(unit.receive.take, there)
            ctx.set(unit.send.take, take)
            for name, now in (("sent", take), ("expected", there), ("done", ctx.get(unit.done))):
                if now:
                    seen[name].append(cycle)
            await ctx.tick()

    simulate(unit, bench)
    return seen


def test_message_is_expected_when_the_part_that_it_is_reduced_with_has_come() -> None:
    """A chunk begins with its first part; each of two messages waits for a part of its own."""
    work = ring_work("reduce_scatter", rank=0, total=6, message=2, members=3)
    seen = in_ring(work, 80, loaded=(40, 60))
    assert seen["expected"] == [43, 44, 63, 64]
    assert len(seen["sent"]) == 4


@pytest.mark.parametrize("held", range(8))
def test_ring_ends_where_an_empty_message_follows_one_of_any_length(held: int) -> None:
    """Of 16 flits the fifth block of five members is empty, and its end is no other's."""
    work = ring_work("all_gather", rank=0, total=16, message=4, members=5)

    # The last flit of the first message leaves so many cycles late.
    def holds(cycle: int, sent: int) -> bool:
        return sent == 3 and held > 0 and cycle < 30 + held

    assert len(in_ring(work, 240, (20,), holds)["done"]) == 1


def test_flow_changes_only_while_all_is_acknowledged() -> None:
    seen = run(SENDS, [{}] * 12, ("send_flow", "requests.valid"))
    none = packed(flow_layout(SPEC), phase=SPEC.protocol.phases + 1)
    assert set(seen) == {(none, 0)}


def test_enough_has_come_when_all_that_is_wanted_has() -> None:
    """The next descriptor's flits may come before it begins, if it has the same flow."""
    other = FLOW | {"phase": 2}
    layout, rest = work_layout(SPEC), {"sets_receive": 1, "direct": 2, "expected": 2}
    same, next_flow = (packed(layout, receive=flow, **rest) for flow in (FLOW, other))
    kept = packed(layout, direct=3, expected=3)
    cases = ((None, 2), (next_flow, 2), (same, 4), (kept, 5))
    for behind, wanted in cases:
        queued = [{"i.valid": 1, "i.payload": one} for one in (same, behind) if one is not None]
        came = [one for _ in range(wanted) for one in ({"came": 1}, {})]
        cycles = [*queued, *[{}] * (12 - len(queued)), *came, {}]
        seen = trace(AceChannel(spec=SPEC), cycles, ["enough", "receive_flow"])
        assert [one[0] for one in seen[:4]] == [1] * 4
        assert [one[0] for one in seen[12:]] == [0] * (2 * wanted - 1) + [1, 1]
        assert seen[-1][1] == packed(flow_layout(SPEC), **FLOW)


WAITING = LINK.protocol.buffer_flits
"""Flits that may be accepted before a message of theirs is under way."""


def test_enough_waits_in_the_receive_queue_of_what_no_message_takes() -> None:
    """Of the next descriptor, while this one sends; when that begins, it takes them and more."""
    layout = work_layout(SPEC)
    flits = WAITING + 5
    following = packed(layout, direct=flits, expected=flits, sets_receive=1, receive=FLOW)
    sends = SENDS | packed(layout, sets_receive=1, receive=FLOW)
    cycles = [{"i.valid": 1, "i.payload": one} for one in (sends, following)]
    cycles += [*[{}] * 20, *[{"came": 1}] * WAITING, *[{}] * 4]
    begins = len(cycles)
    cycles += [{"begun": 1}, *[{}] * 30, *[{"came": 1}] * 5, {}]
    watch = ("enough", "done", "receive.valid")
    rest = {"requests.ready": 1, "send.take": 1, "idle": 1}
    seen = trace(AceChannel(spec=SPEC), cycles, watch, **rest)
    assert [one[0] for one in seen[22 : begins + 1]] == [0] * WAITING + [1] * 5
    expected = next(k for k, one in enumerate(seen) if one[2])
    # The message that takes what is in the queue is counted 2 cycles behind.
    falls = begins + [one[0] for one in seen[begins:]].index(0)
    assert (falls, seen[expected - 1][1:]) == (expected + 2, (0, 0))
    assert [one[0] for one in seen[falls:]] == [0] * (len(cycles) - 1 - falls) + [1]


def test_flits_of_the_next_chunks_wait_for_sends_of_these() -> None:
    """Both machines own a chunk until they have sent it; the others bring what may wait.

    All that may come of the two chunks is taken by messages. Behind it come as many flits as the
    link has credits for.
    """
    work = ring_work("reduce_scatter", rank=0, total=300, message=4, members=2)
    unit = known(AceChannel(spec=SPEC))
    came = 0

    async def bench(ctx: Any) -> None:
        nonlocal came
        for name, value in ((unit.i.payload, work), (unit.idle, 1), (unit.requests.ready, 1)):
            ctx.set(name, value)
        done = [0, 0]
        for cycle in range(400):
            ctx.set(unit.i.valid, int(cycle == 0))
            ctx.set(unit.begun, int(cycle in (20, 21)))
            ctx.set(unit.loaded, int(cycle in (20, 21)))
            # Flits come as long as they may, and are taken as messages want them; none is sent.
            comes = cycle > 24 and not ctx.get(unit.enough)
            ctx.set(unit.came, int(comes))
            came += comes
            for k, now in enumerate(done):
                ctx.set(unit.receive.done[k], now)
            word = ctx.get(unit.receive.payload)
            takes = ctx.get(unit.receive.valid)
            done = [int(takes and word.last and word.fsm >> k & 1) for k in range(2)]
            ctx.set(unit.receive.take, takes)
            await ctx.tick()

    simulate(unit, bench)
    assert came == 2 * 4 + WAITING


def test_busy_from_a_descriptor_queued_to_the_end_of_the_last() -> None:
    """Software that sees preparing and then busy low may take all for done."""
    work = packed(work_layout(SPEC), sets_receive=1, receive=FLOW)
    queued = {"i.valid": 1, "i.payload": work}
    seen = trace(AceChannel(spec=SPEC), [queued, queued, *[{}] * 20], ("busy", "done"))
    last = [k for k, one in enumerate(seen) if one[1]][-1]
    assert [one[0] for one in seen] == [0, *[1] * last, *[0] * (21 - last)]


def test_reset_forgets_descriptors() -> None:
    seen = run(DIRECT, [{}] * 8 + [{"rst": 1}] + [{}] * 4, ("receive.valid", "busy"))
    assert seen[8] == (1, 1)
    assert seen[-1] == (0, 0)
