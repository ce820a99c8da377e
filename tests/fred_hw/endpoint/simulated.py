"""An endpoint in Amaranth's simulator, and the neighbour that greets it."""

from functools import cache
from typing import Any

from amaranth.sim import Simulator

from fred_hw.endpoint import endpoint
from fred_hw.protocol import HEADER_BITS
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Endpoint, Flit
from tests.fred_hw.specs import kind_of

__all__ = ["greet", "simulation"]

CYCLES = 20
"""From reset until both ends are up and know the other's limits."""


@cache
def simulation(spec: SwitchSpec) -> tuple[Any, Simulator, dict[str, Any]]:
    """Return an endpoint, its simulator, and under "bench" what the next run of it does."""
    dut, what = endpoint.Endpoint(spec=spec), {}

    async def bench(ctx: Any) -> None:
        await what["bench"](ctx)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    return dut, simulator, what


async def greet(ctx: Any, dut: Any, cycles: int = CYCLES) -> list[int]:
    """Greet an endpoint as a neighbour with space does, and take what it says until it is up.

    Kinds of what it says are returned.
    """
    neighbour, kinds = Endpoint(dut.spec, session_id=9), list[int]()
    ctx.set(dut.m_axis_tready, 1)
    for _ in range(cycles):
        said = None
        if ctx.get(dut.m_axis_tvalid):
            user = ctx.get(dut.m_axis_tuser)
            header, crc = user & ((1 << HEADER_BITS) - 1), user >> HEADER_BITS
            said = Flit(header, ctx.get(dut.m_axis_tdata), crc)
            kinds.append(kind_of(header))
        flit = neighbour.step(said)
        ctx.set(dut.s_axis_tvalid, flit is not None)
        if flit is not None:
            ctx.set(dut.s_axis_tdata, flit.data)
            ctx.set(dut.s_axis_tuser, flit.user)
        await ctx.tick()
    assert neighbour.up
    ctx.set(dut.s_axis_tvalid, 0)
    return kinds
