"""Tests of fred_hw.ace.npu_endpoint; its throughput and what it does: tests/testbench/collectives.

Latency, throughput and reset are those of the engine and of the link inside.
"""

from typing import Any

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.ace.work import ADDRESS_BITS
from fred_hw.protocol import Kind
from testbench.models.endpoint import Endpoint, Flit
from tests.fred_hw.simulation import simulate

from .works import SPEC


def greeted(unit: Any, cycles: int) -> tuple[Endpoint, list[int]]:
    """Let a neighbour's model greet an endpoint; return it, and the kinds of what it was sent."""
    neighbour, kinds = Endpoint(SPEC, incarnation=9), []

    async def bench(ctx: Any) -> None:
        ctx.set(unit.m_axis_tready, 1)
        for _ in range(cycles):
            said = None
            if ctx.get(unit.m_axis_tvalid):
                user = ctx.get(unit.m_axis_tuser)
                header, crc = user & ((1 << 56) - 1), user >> 56
                said = Flit(header, ctx.get(unit.m_axis_tdata), crc)
                kinds.append(header & 7)
            flit = neighbour.step(said)
            ctx.set(unit.s_axis_tvalid, flit is not None)
            if flit is not None:
                ctx.set(unit.s_axis_tdata, flit.data)
                ctx.set(unit.s_axis_tuser, flit.user)
            await ctx.tick()

    simulate(unit, bench)
    return neighbour, kinds


def test_link_of_a_neighbour_comes_up_after_reset() -> None:
    neighbour, kinds = greeted(NpuEndpoint(spec=SPEC), 25)
    assert neighbour.up
    assert kinds[0] == Kind.HELLO


def test_latency_and_throughput_are_of_ports_that_a_user_wires() -> None:
    """Addresses are in bytes, whole bytes wide; data is a flit."""
    unit = NpuEndpoint(spec=SPEC)
    assert len(unit.m_axis_read_tdata) == len(unit.m_axis_write_tuser) == ADDRESS_BITS == 40
    assert len(unit.s_axis_data_tdata) == len(unit.m_axis_write_tdata) == SPEC.data_width
