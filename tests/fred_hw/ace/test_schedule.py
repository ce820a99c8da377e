"""Tests of fred_hw.ace.schedule."""

from collections.abc import Mapping
from typing import Any

import pytest

from fred_hw.ace.schedule import AceSchedule, conditions_layout
from fred_hw.ace.work import work_layout
from tests.fred_hw.simulation import RST, known, simulate

from .works import TABLE, packed

UNICAST = {"phase": TABLE.protocol.online, "peer": 3}
MP, PP, DP = 1, 2, 4


class ScheduleBench:
    """A table whose virtual channels are busy for so many cycles with each entry.

    Attributes
    ----------
    issued : list of (int, int, int)
        Cycle from the start of the schedule, virtual channel and destination of each entry.
    refused : int
        Entries that were refused.
    """

    def __init__(self, work_cycles: int = 2) -> None:
        self.dut: Any = known(AceSchedule(spec=TABLE))
        self.work_cycles = work_cycles
        self.left = {MP: 0, PP: 0, DP: 0}
        self.held = 0
        self.issued: list[tuple[int, int, int]] = []
        self.now = self.refused = 0

    async def cycle(self, ctx: Any, **inputs: int) -> None:
        unit = self.dut
        ended = inputs.pop("ended", 0)
        ended |= sum(one for one, left in self.left.items() if left == 1)
        busy = sum(one for one, left in self.left.items() if left > 1)
        held = dict.fromkeys(("begins", "is_entry", "given", "start", "clear"), 0)
        for name, value in {**held, **inputs, "done": ended, "busy": busy | self.held}.items():
            ctx.set(getattr(unit, name), value)
        self.left = {one: max(0, left - 1) for one, left in self.left.items()}
        if valid := ctx.get(unit.valid):
            self.issued.append((self.now, valid, ctx.get(unit.o.destination)))
            self.left[valid] = self.work_cycles + 1
        self.refused += ctx.get(unit.refused)
        self.now += 1
        await ctx.tick()

    async def load(
        self,
        ctx: Any,
        *conditions: Mapping[str, int],
        entry: int = 1,
        circuit: int = MP,
        flows: Mapping[str, Any] | None = None,
    ) -> None:
        """Give descriptors, each with the next destination from 1 on."""
        for number, one in enumerate(conditions, 1):
            named = {"sets_send": 1, "send": UNICAST} if flows is None else flows
            work = packed(work_layout(TABLE), destination=number, **named)
            fields = packed(conditions_layout(), **{k: v for k, v in one.items() if k != "on"})
            await self.cycle(ctx, begins=1, is_entry=entry, conditions=fields)
            for _ in range(3):
                await self.cycle(ctx, i=work)
            taken = ctx.get(self.dut.taken)
            await self.cycle(ctx, i=work, given=one.get("on", circuit) & taken)

    async def run(self, ctx: Any, cycles: int = 60, step_cycles: int = 0) -> None:
        """Run the schedule for so many cycles."""
        self.issued.clear()
        ctx.set(self.dut.step_cycles, step_cycles)
        self.now = 0
        await self.cycle(ctx, start=1)
        await self.run_on(ctx, cycles - 1)

    async def run_on(self, ctx: Any, cycles: int) -> None:
        """Go on for so many cycles."""
        for _ in range(cycles):
            await self.cycle(ctx)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Cycle and destination of entries that were issued."""
        return [(cycle, number) for cycle, _, number in self.issued]


def play(coroutine: Any, **more: int) -> ScheduleBench:
    bench = ScheduleBench(**more)
    simulate(bench.dut, lambda ctx: coroutine(bench, ctx))
    return bench


def test_latency_and_throughput_of_entries_without_conditions() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        ctx.set(bench.dut.space, 7)
        await bench.load(ctx, {"on": MP}, {"on": PP}, {"on": DP})
        assert ctx.get(bench.dut.entries) == 3 and not bench.issued
        await bench.run(ctx)
        assert not ctx.get(bench.dut.running)

    assert play(run).issued == [(3, MP, 1), (6, PP, 2), (9, DP, 3)]


def test_virtual_channel_has_one_entry_at_a_time() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {}, {}, {"on": PP})
        await bench.run(ctx)

    assert play(run, work_cycles=10).places == [(3, 1), (16, 2), (19, 3)]


def test_descriptor_that_still_runs_holds_up_the_entries_of_its_virtual_channel() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {"on": PP}, {"on": MP})
        bench.held = MP
        await bench.run(ctx, 30)
        bench.held = 0
        await bench.cycle(ctx)

    assert play(run).places == [(3, 1), (30, 2)]


def test_end_of_another_descriptor_sets_no_bits() -> None:
    """The descriptor was queued before; the virtual channel has had an entry in an earlier run."""

    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {"receive_sets": 1}, {"send_waits": 1, "on": PP})
        await bench.run(ctx)
        bench.held = MP
        await bench.run(ctx, 10)
        assert not bench.issued
        bench.held = 0
        await bench.cycle(ctx, ended=MP)
        await bench.run_on(ctx, 30)

    (first, _), (second, _) = play(run, work_cycles=10).places
    assert second - first == 14


def test_entry_waits_for_its_step() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {"step": 0}, {"step": 2, "on": PP}, {"step": 2, "on": DP})
        await bench.run(ctx, step_cycles=10)
        assert ctx.get(bench.dut.step) == 2

    # Step 0 begins in cycle 1, step 2 in cycle 21.
    assert play(run).places == [(3, 1), (21, 2), (24, 3)]


@pytest.mark.parametrize("half", ["send", "receive"])
@pytest.mark.parametrize("tree", [0, 5, 63])
def test_entry_waits_for_the_dependency_bits_of_its_tree(half: str, tree: int) -> None:
    """The bits of two entries, which end late, on another virtual channel."""

    async def run(bench: ScheduleBench, ctx: Any) -> None:
        other = {"receive_tree": tree ^ 1, "receive_sets": 0b11000, "on": DP}
        first = {"receive_tree": tree, "receive_sets": 0b10, "on": MP}
        second = {"receive_tree": tree, "receive_sets": 0b1, "on": PP}
        waits = {f"{half}_tree": tree, f"{half}_waits": 0b11, "on": DP}
        await bench.load(ctx, other, first, second, waits)
        await bench.run(ctx)
        assert bench.refused == 0

    # The second entry of a tree is issued in cycle 9 and ends in cycle 20; its bit is set two
    # cycles later, and looked at one cycle after that.
    assert play(run, work_cycles=10).places == [(3, 1), (6, 2), (9, 3), (23, 4)]


def test_schedule_runs_again_and_waits_again() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {"receive_sets": 1}, {"send_waits": 1, "on": PP})
        await bench.run(ctx)
        first = list(bench.issued)
        await bench.run(ctx)
        assert bench.issued == first and first[1][0] > 13

    play(run, work_cycles=10)


@pytest.mark.parametrize(
    ("entries", "refused"),
    [
        ([{"step": 1}, {"step": 0}], 1),
        ([{"step": 1}, {"step": 1}], 0),
        ([{"send_waits": 1}], 1),
        ([{"receive_sets": 1}, {"send_waits": 2}], 1),
        ([{"receive_sets": 1}, {"send_tree": 1, "send_waits": 1}], 1),
        ([{"receive_sets": 1}, {"receive_waits": 3}], 1),
        ([{"receive_waits": 1, "receive_sets": 1}], 1),
        ([{"receive_sets": 3}, {"receive_waits": 3}], 0),
    ],
)
def test_entry_that_could_never_be_issued_is_refused(
    entries: list[dict[str, int]], refused: int
) -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, *entries)
        assert bench.refused == refused
        assert ctx.get(bench.dut.entries) == len(entries) - refused

    play(run)


@pytest.mark.parametrize(
    ("sets", "phases", "refused"),
    [
        (["send"], ["send"], 1),
        (["receive"], ["receive"], 1),
        (["send", "receive"], ["receive"], 1),
        (["send", "receive"], ["send"], 1),
        (["send", "receive"], [], 0),
        (["send"], ["receive"], 0),
        (["receive"], ["send"], 0),
        (["send"], [], 0),
        (["receive"], [], 0),
    ],
)
def test_entry_of_a_phase_is_refused(sets: list[str], phases: list[str], refused: int) -> None:
    """A flow that stays as it is does not matter."""
    flows: dict[str, Any] = {
        one: {"phase": 1} if one in phases else UNICAST for one in ("send", "receive")
    }
    flows |= {f"sets_{one}": 1 for one in sets}

    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {}, flows=flows)
        assert (bench.refused, ctx.get(bench.dut.entries)) == (refused, 1 - refused)

    play(run)


def test_full_table_takes_no_entry_and_descriptors_pass_through() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        ctx.set(bench.dut.space, MP)
        most = TABLE.endpoint.schedule_entries
        await bench.load(ctx, *[{}] * (most + 1))
        assert ctx.get(bench.dut.entries) == most and not bench.issued
        await bench.load(ctx, {}, {"on": PP}, entry=0)
        assert [one[1:] for one in bench.issued] == [(MP, 1)]

    play(run)


def test_clear_forgets_entries_their_steps_and_their_bits() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {"step": 3, "receive_sets": 1})
        await bench.cycle(ctx, clear=1)
        await bench.run(ctx)
        assert not bench.issued and not ctx.get(bench.dut.running)
        await bench.load(ctx, {"step": 1}, {"step": 1, "send_waits": 1})
        assert bench.refused == 1

    play(run)


def test_reset_stops_the_schedule_and_forgets_its_entries() -> None:
    async def run(bench: ScheduleBench, ctx: Any) -> None:
        await bench.load(ctx, {}, {"step": 9, "on": PP})
        await bench.run(ctx, 8, step_cycles=100)
        assert ctx.get(bench.dut.running)
        ctx.set(RST, 1)
        await bench.cycle(ctx)
        ctx.set(RST, 0)
        assert not ctx.get(bench.dut.running) and not ctx.get(bench.dut.entries)
        await bench.run(ctx)
        assert not bench.issued

    play(run)
