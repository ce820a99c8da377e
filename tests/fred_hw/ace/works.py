"""A small engine, and work for it, shared by the tests of fred_hw.ace."""

from typing import Any

from amaranth.hdl import Const

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.work import work_layout
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from tests.fred_hw.simulation import RST, known
from tests.fred_hw.specs import LINK

__all__ = ["SPEC", "TABLE", "TWO", "MemoryBench", "packed", "ring_work"]

SPEC: SwitchSpec = LINK.with_changes(
    endpoint=EndpointSpec(fsms=2, slots=2, chunk_flits=8, memory_reads=4)
)
"""Flits of two bytes, slots of 8 of them."""

TWO: SwitchSpec = SPEC.with_changes(endpoint=SPEC.endpoint.model_copy(update={"read_ports": 2}))
"""The same with two ports to read memory."""

TABLE: SwitchSpec = SPEC.with_changes(
    endpoint=SPEC.endpoint.model_copy(update={"schedule_entries": 6})
)
"""The same as ``SPEC`` with a schedule table."""


def packed(layout: Any, **fields: Any) -> int:
    """Return the bits of a structure; fields of which nothing is said are 0."""
    value = layout.const(fields).as_value()
    assert isinstance(value, Const)
    return value.value


def ring_work(operation: str, rank: int, total: int, message: int, members: int = 4) -> int:
    """Return the work of a ring, all state machines in use."""
    block = -(-total // members)
    gathers = operation == "all_gather"
    first = rank if gathers else (rank - 1) % members
    steps = 2 * (members - 1) if operation == "all_reduce" else members - 1
    sizes = [min(block, max(0, total - k * block)) for k in range(members)]
    return packed(
        work_layout(SPEC),
        total=total,
        block=block,
        message=message,
        first_place=first * message,
        first_offset=first * block,
        last_place=(members - 1) * message,
        last_offset=(members - 1) * block,
        parts=1 if gathers else members,
        steps=steps,
        receives=steps,
        reduces=0 if gathers else members - 1,
        stores=0 if gathers else members - 2,
        expected=sum(sizes[(first - step) % members] for step in range(1, steps + 1)),
        last_fsm=2,
    )


class MemoryBench:
    """Memory and registers of an engine, a cycle at a time; base of benches, which say what one is.

    Attributes
    ----------
    reads : list of int
        Words on their way from memory.
    times : dict
        Cycles in which memory was read and written, and others of the bench.
    """

    def __init__(self, unit: Unit, memory: dict[int, int]) -> None:
        self.dut: Any = known(unit)
        self.memory, self.reads = memory, list[int]()
        self.times: dict[str, list[int]] = {"read": [], "write": []}

    async def cycle(self, ctx: Any) -> None:
        """Serve memory, and tick."""
        raise NotImplementedError

    async def run(self, ctx: Any, cycles: int) -> None:
        """Go on for so many cycles."""
        for _ in range(cycles):
            await self.cycle(ctx)

    async def until_written(self, ctx: Any, count: int) -> None:
        """Go on until memory has been written so often."""
        while len(self.times["write"]) < count:
            await self.cycle(ctx)

    async def reset(self, ctx: Any) -> None:
        """Reset the unit for a cycle; memory forgets what it was asked for."""
        ctx.set(RST, 1)
        await self.cycle(ctx)
        ctx.set(RST, 0)
        self.reads.clear()

    def counts(self) -> dict[str, int]:
        """Return how often each thing was done whose times are kept."""
        return {name: len(times) for name, times in self.times.items()}

    async def write(self, ctx: Any, *words: tuple[str, int, int]) -> None:
        """Write words, (register, index, value), in three cycles: taken in the last of them."""
        for register, index, value in words:
            pins = {"awaddr": _address(register, index), "wdata": value, "wstrb": 15, "bready": 1}
            for name, one in pins.items():
                ctx.set(getattr(self.dut, f"s_axil_{name}"), one)
            for valid in (1, 0, 0):
                for name in ("awvalid", "wvalid"):
                    ctx.set(getattr(self.dut, f"s_axil_{name}"), valid)
                await self.cycle(ctx)

    async def read(self, ctx: Any, register: str, index: int = 0) -> int:
        """Return what a register holds."""
        ctx.set(self.dut.s_axil_araddr, _address(register, index))
        ctx.set(self.dut.s_axil_arvalid, 1)
        ctx.set(self.dut.s_axil_rready, 1)
        for _ in range(9):
            await self.cycle(ctx)
            ctx.set(self.dut.s_axil_arvalid, 0)
            if ctx.get(self.dut.s_axil_rvalid):
                return ctx.get(self.dut.s_axil_rdata)
        raise AssertionError(f"no answer of {register}")


def _address(register: str, index: int = 0) -> int:
    return endpoint_map(SPEC).register(register).address + 4 * index
