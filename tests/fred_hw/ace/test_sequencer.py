"""Tests of fred_hw.ace.sequencer."""

from typing import Any

from fred_hw.ace.sequencer import AceSequencer
from tests.fred_hw.simulation import simulate, trace

from .works import SPEC, ring_work

WORK = ring_work("all_reduce", rank=2, total=19, message=2)  # blocks of 5, the last of 4
PARTS = {"steps": 6, "last_fsm": 2}


def messages(unit: AceSequencer, steps: int, last_fsm: int, ahead: int = 0) -> list[dict[str, int]]:
    """Return all messages, each advanced over at once."""
    seen: list[dict[str, int]] = []
    names = ("machine", "first", "last", "step", "place", "offset", "size")

    async def bench(ctx: Any) -> None:
        for name, value in (("steps", steps), ("last_fsm", last_fsm), ("ahead", ahead)):
            ctx.set(getattr(unit, name), value)
        ctx.set(unit.work, WORK)
        ctx.set(unit.begins, 1)
        await ctx.tick()
        ctx.set(unit.begins, 0)
        for _ in range(120):
            if machine := ctx.get(unit.machine):
                seen.append({name: ctx.get(getattr(unit, name)) for name in names})
            ctx.set(unit.advance, int(bool(machine)))
            await ctx.tick()
        assert not ctx.get(unit.active)

    simulate(unit, bench)
    return seen


def test_order_of_three_chunks_and_three_steps() -> None:
    """Two chunks go through their steps together, then the third alone."""
    seen = messages(AceSequencer(spec=SPEC), 3, 2)
    assert [one["machine"] for one in seen] == [1, 2] * 3 + [1] * 3
    assert [one["step"] for one in seen] == [0, 0, 1, 1, 2, 2, 0, 1, 2]
    assert [one["first"] for one in seen] == [1, 1, 0, 0, 0, 0, 1, 0, 0]
    assert [one["last"] for one in seen] == [0, 0, 0, 0, 1, 1, 0, 0, 1]


def located(seen: list[dict[str, int]]) -> list[tuple[int, int, int]]:
    return [(one["place"], one["offset"], one["size"]) for one in seen]


def test_parts_go_downwards_and_around_and_are_cut_to_their_blocks_and_the_buffer() -> None:
    """Parts are 2 flits, 2 and 1 of each block; what is beyond the buffer is none."""
    first = [(2, 5, 2), (2, 7, 2), (0, 0, 2), (0, 2, 2), (6, 15, 2), (6, 17, 2)]
    others = [(2, 9, 1), (0, 4, 1), (6, 19, 0)]
    assert located(messages(AceSequencer(spec=SPEC), 3, 2)) == first + others


def test_parts_to_receive_are_one_ahead() -> None:
    first = [(0, 0, 2), (0, 2, 2), (6, 15, 2), (6, 17, 2), (4, 10, 2), (4, 12, 2)]
    others = [(0, 4, 1), (6, 19, 0), (4, 14, 1)]
    assert located(messages(AceSequencer(spec=SPEC), 3, 2, ahead=1)) == first + others


def test_turns_of_a_machine_alone_are_all_parts_of_each_chunk() -> None:
    seen = messages(AceSequencer(spec=SPEC), 4, 1)
    assert [one["machine"] for one in seen] == [1] * 12
    offsets = [5, 0, 15, 10, 7, 2, 17, 12, 9, 4, 19, 14]
    assert [one["offset"] for one in seen] == offsets


def test_latency_and_throughput_of_messages() -> None:
    inputs = [{"begins": 1}, *[{}] * 3, {"advance": 1}, *[{}] * 4]
    seen = trace(AceSequencer(spec=SPEC), inputs, ["machine"], work=WORK, **PARTS)
    assert seen == [0, 0, 0, 0, 1, 0, 0, 0, 2]
    ahead = trace(
        AceSequencer(spec=SPEC), [{"begins": 1}, *[{}] * 5], ["machine"], ahead=1, **PARTS
    )
    assert ahead == [0, 0, 0, 0, 0, 1]


def test_reset_leaves_no_turn() -> None:
    unit, inputs = AceSequencer(spec=SPEC), [{"begins": 1}, {"rst": 1}, *[{}] * 6]
    seen = trace(unit, inputs, ("machine", "active"), work=WORK, **PARTS)
    assert seen[2:] == [(0, 0)] * 6
