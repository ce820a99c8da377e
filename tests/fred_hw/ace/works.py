"""A small engine, and work for it, shared by the tests of fred_hw.ace."""

from typing import Any

from amaranth.hdl import Const

from fred_hw.ace.work import work_layout
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.spec import SwitchSpec
from tests.fred_hw.specs import LINK

__all__ = ["SPEC", "packed", "ring_work"]

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
        last_fsm=2,
    )
