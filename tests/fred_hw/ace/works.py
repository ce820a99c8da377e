"""A small engine, and work for it, shared by the tests of fred_hw.ace."""

from collections.abc import Awaitable, Callable
from typing import Any

from amaranth.hdl import Const

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.work import work_layout
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.spec import SwitchSpec
from tests.fred_hw.specs import LINK

__all__ = ["SPEC", "packed", "read_register", "ring_work", "write_register"]

SPEC: SwitchSpec = LINK.with_changes(
    endpoint=EndpointSpec(fsms=2, slots=2, chunk_flits=8, memory_reads=4)
)
"""Flits of two bytes, slots of 8 of them."""


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


def _address(register: str, index: int = 0) -> int:
    return endpoint_map(SPEC).register(register).address + 4 * index


async def write_register(
    ctx: Any, unit: Any, cycle: Callable[[Any], Awaitable[None]], word: tuple[str, int, int]
) -> None:
    """Write a word, (register, index, value), in three cycles: it is taken in the last of them."""
    register, index, value = word
    pins = {"awaddr": _address(register, index), "wdata": value, "wstrb": 15, "bready": 1}
    for name, one in pins.items():
        ctx.set(getattr(unit, f"s_axil_{name}"), one)
    for valid in (1, 0, 0):
        for name in ("awvalid", "wvalid"):
            ctx.set(getattr(unit, f"s_axil_{name}"), valid)
        await cycle(ctx)


async def read_register(
    ctx: Any, unit: Any, cycle: Callable[[Any], Awaitable[None]], register: str, index: int = 0
) -> int:
    """Return what a register holds."""
    ctx.set(unit.s_axil_araddr, _address(register, index))
    ctx.set(unit.s_axil_arvalid, 1)
    ctx.set(unit.s_axil_rready, 1)
    for _ in range(9):
        await cycle(ctx)
        ctx.set(unit.s_axil_arvalid, 0)
        if ctx.get(unit.s_axil_rvalid):
            return ctx.get(unit.s_axil_rdata)
    raise AssertionError(f"no answer of {register}")
