"""Contract of fred_hw.endpoint.terminator, cycle by cycle; traffic is in tb_terminator."""

from typing import Any

import pytest

from fred_hw.endpoint.flow import flow_layout
from fred_hw.endpoint.terminator import LinkTerminator
from tests.fred_hw.simulation import known, simulate, trace
from tests.fred_hw.specs import LINK

FLOW = flow_layout(LINK).const({"phase": 1}).as_bits()


def test_only_a_specification_is_accepted() -> None:
    with pytest.raises(TypeError, match=r"^LinkTerminator spec must be a SwitchSpec, not 3$"):
        LinkTerminator(spec=3)  # pyright: ignore[reportArgumentType]


def offered(flows: list[int], lasts: list[int]) -> list[int]:
    """Return the cycles in which flits of the first channel are taken, each with its tdest."""
    unit, taken = known(LinkTerminator(spec=LINK)), []

    async def bench(ctx: Any) -> None:
        waiting = list(zip(flows, lasts, strict=True))
        for cycle in range(12):
            ctx.set(unit.s_axis_mp_tvalid, bool(waiting))
            if waiting:
                flow, last = waiting[0]
                ctx.set(unit.s_axis_mp_tdest, flow)
                ctx.set(unit.s_axis_mp_tlast, last)
            if waiting and ctx.get(unit.s_axis_mp_tready):
                waiting.pop(0)
                taken.append(cycle)
            await ctx.tick()

    simulate(unit, bench)
    return taken


@pytest.mark.slow
def test_throughput_is_a_flit_per_cycle_in_packets_of_a_flow() -> None:
    assert offered([0, 0, 0], [0, 1, 1]) == [0, 1, 2]


@pytest.mark.slow
def test_latency_of_the_first_packet_of_a_flow_is_two_cycles_more() -> None:
    """One sets the flow, in one the numbers of the flow are read."""
    assert offered([FLOW, FLOW], [0, 1]) == [2, 3]


@pytest.mark.slow
def test_reset_forgets_the_flow() -> None:
    packet = {"s_axis_mp_tvalid": 1, "s_axis_mp_tdest": FLOW, "s_axis_mp_tlast": 1}
    inputs = [*[packet] * 4, {"rst": 1}, *[packet] * 4]
    ready = trace(LinkTerminator(spec=LINK), inputs, ["s_axis_mp_tready"])
    assert ready[:4] == ready[5:] == [0, 0, 1, 1]


@pytest.mark.slow
def test_another_flow_waits_for_the_acks() -> None:
    assert offered([0, FLOW], [1, 1]) == [0]


@pytest.mark.slow
def test_tdest_counts_with_the_first_flit_only() -> None:
    assert offered([0, FLOW, FLOW], [0, 0, 1]) == [0, 1, 2]


@pytest.mark.slow
def test_nothing_is_ready_without_a_flit() -> None:
    """So tdest may be undefined while nothing is offered."""
    assert offered([], []) == []
