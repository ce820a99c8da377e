"""Contract of fred_hw.switch.ports.output_port, cycle by cycle."""

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle as endless
from itertools import repeat
from typing import Any, NamedTuple

import pytest

from fred_hw.protocol import Kind
from fred_hw.switch.ports.output_port import OutputPort
from tests.fred_hw.simulation import known, port, simulate, trace
from tests.fred_hw.specs import CODEC, FRAMED, LINK, STOMP, framed_flit

LATENCY = 2
MP, PP, DP = range(3)
MOST, SIZE = LINK.protocol.buffer_flits, LINK.protocol.packet_flits
ADDED = 2
DEPTH = LATENCY + 6 + 2 * SIZE
"""Flits that fit."""


class Cycle(NamedTuple):
    """What is seen in a cycle: the flit that leaves is None if there is none."""

    space: int
    start: bool
    spare: int
    given: int
    flit: int | None


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str]) -> list[Any]:
    rest = {"o.ready": 1} | {f"credit.here.limit[{k}]": MOST for k in range(3)}
    return trace(OutputPort(spec=LINK, latency=LATENCY, guarded=True), inputs, watch, **rest)


def packets(*lengths: int, circuit: int = MP, **more: int) -> list[dict[str, int]]:
    """Return inputs of packets without a gap, and of the interconnect that carries them."""
    entries: list[dict[str, int]] = []
    for length in lengths:
        entries += [
            {
                "injection.fire": 1,
                "injection.start": int(k == 0),
                "injection.last": int(k == length - 1),
                "injection.circuit": circuit,
                "injection.descriptor.length": length - 1,
            }
            | (more if k == 0 else {})
            for k in range(length)
        ]
    flits = [{}] * LATENCY + [{"i.valid": 1, "i.data": k + 1} for k in range(len(entries))]
    entries += [{"injection.circuit": circuit}] * (LATENCY + 4)
    flits += [{}] * (len(entries) - len(flits))
    return [entry | flit for entry, flit in zip(entries, flits, strict=True)]


def sized(size: int) -> OutputPort:
    """Return a port for packets of so many flits."""
    protocol = LINK.protocol.model_dump() | {"packet_flits": size, "round_trip_cycles": 1}
    return known(OutputPort(spec=LINK.with_changes(protocol=protocol), latency=LATENCY))


def play(
    unit: OutputPort,
    cycles: int,
    lengths: Iterator[int],
    goes: Callable[[int], bool] = lambda cycle: True,
    ready: Callable[[int], bool] = lambda cycle: True,
) -> list[Cycle]:
    """Start packets of these lengths where there is space, a flit in each cycle that ``goes``.

    The next receiver grants space for what starts at once. Flits are numbered.
    """
    size, most = unit.spec.protocol.packet_flits, unit.spec.protocol.buffer_flits
    link_sequences = 1 << len(unit.credit.grant.limit)
    seen: list[Cycle] = []

    async def bench(ctx: Any) -> None:
        inside = deque([False] * unit.latency)  # the interconnect
        sent = left = length = out = 0
        for number in range(3):
            ctx.set(unit.credit.here.limit[number], most)
        ctx.set(unit.credit.grant.valid, 1)
        for cycle in range(cycles):
            space = ctx.get(port(unit, "injection.space"))
            start = not left and space == 7 and goes(cycle)
            if start:
                left = length = next(lengths)
                sent += length
            # The first flit comes with the start or behind it.
            fire = left > 0 and goes(cycle)
            left -= fire
            last = fire and not left
            ctx.set(unit.injection.start, start)
            ctx.set(port(unit, "injection.descriptor.length"), length - 1)
            ctx.set(unit.injection.fire, fire)
            ctx.set(unit.injection.last, last)
            ctx.set(unit.credit.grant.limit, (sent + most) % link_sequences)
            taken = ready(cycle)
            ctx.set(unit.o.ready, taken)
            inside.append(fire)
            arrives = inside.popleft()
            ctx.set(unit.i.valid, arrives)
            ctx.set(unit.i.data, out)
            out += arrives
            leaves = taken and ctx.get(unit.o.valid)
            flit = ctx.get(port(unit, "o.payload.data")) if leaves else None
            spare = size - length if last else 0
            seen.append(Cycle(space, start, spare, ctx.get(unit.given), flit))
            await ctx.tick()

    simulate(unit, bench)
    return seen


def counted(unit: OutputPort, seen: Sequence[Cycle]) -> Iterator[int]:
    """Yield for each cycle the flits that are known to be promised.

    A packet that starts takes space for a largest one from the next cycle on; what it did not
    take, and what leaves, is free a cycle later than that.
    """
    promised = free = 0
    for cycle in seen:
        yield promised
        promised += unit.spec.protocol.packet_flits * cycle.start - free
        free = cycle.spare + cycle.given


def test_latency_and_throughput_of_packets_without_a_gap() -> None:
    seen = run(packets(4, 2, 1), ["o.valid", "given", "o.payload.data"])
    first = LATENCY + ADDED
    assert [cycle for cycle, word in enumerate(seen) if word[0]] == list(range(first, first + 7))
    assert [word[1] for word in seen] == [*(word[0] for word in seen[1:]), 0]
    assert [word[2] for word in seen if word[0]] == list(range(1, 8))


def test_headers_say_what_was_known_at_the_start() -> None:
    known = {"phase": 3, "sequence": 9, "length": 1}
    inputs = packets(2, 2, circuit=DP, **{f"injection.descriptor.{k}": v for k, v in known.items()})
    words = [word[1:] for word in run(inputs, ["o.valid", *FRAMED]) if word[0]]
    flits = [framed_flit(word) for word in words]
    fields = {"circuit": DP, "phase": 3, "sequence": 9, "last": 1}
    places = [(index, link_sequence) for link_sequence in (0, 2) for index in range(2)]
    assert flits == [
        CODEC.pack(k + 1, **fields, index=index, link_sequence=link_sequence)
        for k, (index, link_sequence) in enumerate(places)
    ]


def test_space_is_promised_for_whole_packets() -> None:
    # Two largest packets, and what is on the way, fit while nothing leaves.
    inputs = [
        {"injection.start": int(k < DEPTH // SIZE), "injection.circuit": k % 3}
        for k in range(DEPTH // SIZE + 2)
    ]
    seen = run([one | {"o.ready": 0} for one in inputs], ["injection.space"])
    assert [space == 7 for space in seen] == [*[True] * (DEPTH // SIZE), False, False]


@pytest.mark.parametrize("pause", [0, 1, 5])
def test_space_counts_a_packet_that_starts_in_the_cycle_behind(pause: int) -> None:
    start = {"injection.start": 1, "o.ready": 0}
    before = [start | {"injection.circuit": k} for k in range(DEPTH // SIZE - 1)]
    inputs = [*before, *[{"o.ready": 0}] * pause, start, {"o.ready": 0}, {"o.ready": 0}]
    spaces = run(inputs, ["injection.space"])
    assert spaces == [7] * (len(before) + pause + 1) + [0, 0]


def test_space_counts_what_ends_short_and_what_leaves_two_cycles_later() -> None:
    # The fourth of these is 1 flit long: until that is known there is no space for a fifth. The
    # first flit is in the register that offers it.
    goes, leaves = 4 + 4 + 4, 20
    seen = play(
        sized(SIZE), leaves + 4, iter([4, 4, 4, 1, 1, 4]), ready=lambda cycle: cycle >= leaves
    )
    spaces = {cycle: word.space for cycle, word in enumerate(seen)}
    assert all(spaces[cycle] == 7 for cycle in range(goes + 1))
    assert [spaces[goes + k] for k in (1, 2)] == [0, 7]
    # The fifth fills it: 13 flits are inside, and a largest packet does not fit beside them.
    assert [seen[goes + k].start for k in (0, 1, 2)] == [True, False, True]
    assert {spaces[cycle] for cycle in range(goes + 3, leaves + 2)} == {0}
    assert [word.given for word in seen[leaves - 1 :]] == [0, *[1] * 4]
    assert spaces[leaves + 2] == 7


def test_a_short_packet_gives_back_the_space_that_it_did_not_take() -> None:
    # The last of these start where a largest packet fits, but only once the end of the one before
    # is known, which it is in the second cycle behind it.
    seen = play(sized(SIZE), 2 * DEPTH, repeat(1), ready=lambda cycle: False)
    # The first flit is in the register that offers it.
    starts, full = [cycle for cycle, word in enumerate(seen) if word.start], DEPTH - 2 * SIZE + 3
    assert starts == [*range(full), full + 1, full + 3, full + 5]
    assert len(starts) == DEPTH - SIZE + 2


@pytest.mark.slow_after_first
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("lengths", ["one flit", "all"])
def test_throughput_is_full_for_short_packets_without_a_gap(size: int, lengths: str) -> None:
    unit, cycles = sized(size), 200
    every = [k * k % size + 1 for k in range(size)] if lengths == "all" else [1]
    seen = play(unit, cycles, endless(every))
    assert {word.space for word in seen} == {7}
    assert [word.flit for word in seen] == [
        *[None] * (LATENCY + ADDED),
        *range(cycles - LATENCY - ADDED),
    ]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("size", [1, 4, 8, 16])
def test_never_more_is_promised_than_fits(size: int) -> None:
    unit, rng, cycles = sized(size), random.Random(size), 700
    # Every 50 cycles either side gets another chance to go on.
    rates = [rng.choices((0.1, 0.5, 0.9, 1), k=2) for _ in range(cycles // 50)]

    def lengths() -> Iterator[int]:
        while True:
            largest = rng.choice((1, 2, size))
            yield from (rng.randint(1, min(size, largest)) for _ in range(10))

    seen = play(
        unit,
        cycles,
        lengths(),
        goes=lambda cycle: rng.random() < rates[cycle // 50][0],
        ready=lambda cycle: rng.random() < rates[cycle // 50][1],
    )
    promised = list(counted(unit, seen))
    assert [word.space for word in seen] == [7 * (one + size <= unit.depth) for one in promised]
    assert unit.depth - size < max(promised) <= unit.depth
    flits = [word.flit for word in seen if word.flit is not None]
    assert flits == list(range(len(flits))) and len(flits) > 100


def test_space_is_that_of_the_next_receiver_too() -> None:
    # A largest packet would fit behind all of these but the last.
    begun = MOST - SIZE + 1
    seen = run(packets(*[1] * begun), ["injection.space"])
    assert seen[: begun + 1] == [*[7] * begun, 0b110]


def test_space_that_is_kept_is_none_a_cycle_later_and_still_vacant() -> None:
    start = {"injection.start": 1, "injection.circuit": DP}
    full = [start] * (DEPTH // SIZE)
    kept = [{"reserved": 1 << PP}] * 3 + [{}] * 2 + [one | {"reserved": 1 << PP} for one in full]
    watch = ["injection.space", "vacant", "starts", "started", "granted"]
    seen = run([one | {"o.ready": 0} for one in [*kept, {}]], watch)
    rest = [(0b101, 7, 1, DP, 7)] * (len(full) - 1)
    assert seen == [
        *[(7, 7, 0, 0, 7), *[(0b101, 7, 0, 0, 7)] * 3],
        *[(7, 7, 0, 0, 7)] * 2,
        *rest,
        (0, 0, 1, DP, 7),
    ]
    # Where the next receiver has none there is none, though the queue here has.
    seen = run(packets(*[1] * (MOST - SIZE + 1)), watch)
    assert (0b110, 0b110, 1, MP, 0b110) in seen


@pytest.mark.parametrize(("bad", "valid"), [(1, 1), (0, 0)], ids=["bad", "missing"])
def test_what_must_not_be_used_leaves_with_a_crc_inverted(bad: int, valid: int) -> None:
    inputs = packets(1)
    inputs[0] |= {"injection.bad": bad}
    inputs[LATENCY] |= {"i.valid": valid}
    word = run(inputs, ["o.valid", *FRAMED])[LATENCY + 2]
    assert word[0] and word[3] == CODEC.crc(word[1], word[2]) ^ STOMP


def test_a_message_leaves_in_the_next_cycle_before_a_flit() -> None:
    message = {"message.valid": 1, "message.payload.kind": Kind.ASK}
    watch = ["o.valid", "message.ready", "given"]
    stalled = [message | {"o.ready": 0}] * 2
    assert run([*stalled, message, {}], watch) == [(0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 0, 0)]
    inputs = packets(1)
    inputs[LATENCY + ADDED - 1] |= message
    assert run(inputs, watch)[LATENCY + ADDED - 1 :][:3] == [(0, 1, 0), (1, 0, 1), (1, 0, 0)]


def test_a_flit_is_given_in_the_cycle_before_it_is_offered() -> None:
    inputs = packets(2)
    inputs[LATENCY + ADDED] |= {"o.ready": 0}
    seen = run(inputs, ["o.valid", "given"])
    assert seen[LATENCY + ADDED - 1 :] == [(0, 1), (1, 0), (1, 1), (1, 0), (0, 0)]


def test_reset_forgets_all_packets_and_promises() -> None:
    begun = [
        {"injection.start": 1, "injection.fire": 1, "injection.circuit": k % 3, "o.ready": 0}
        for k in range(DEPTH // SIZE)
    ]
    # What the last of them gives back is not known yet.
    begun[-1] |= {"injection.last": 1}
    again = [{"injection.start": 1, "injection.circuit": k % 3} for k in range(len(begun))]
    inputs = [*begun, {"rst": 1, "o.ready": 0}, *again, {}, {}]
    seen = run(inputs, ["injection.space", "o.valid"])
    assert seen[len(begun)][0] == 0
    assert seen[len(begun) + 1 :] == [(7, 0)] * len(again) + [(0, 0)] * 2
