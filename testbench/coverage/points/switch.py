"""Preemption at each position of a packet, and retransmission in each state of the scheduler."""

from fred_hw.link.message import message_layout
from fred_hw.protocol import Kind
from fred_hw.switch.acknowledger import STATES, Acknowledger
from fred_hw.switch.core import SwitchCore
from fred_hw.switch.flow_sequencer import FlowSequencer
from fred_hw.switch.scheduler import Scheduler
from testbench.coverage.point import Points, watches

__all__: list[str] = []


@watches(FlowSequencer)
def _flow_sequencer(unit: FlowSequencer) -> Points:
    """Let the phase yield at each position of a packet, which is then sent to its end."""
    points = {"yields_before_a_packet": "able && !ports__may"}
    for k in range(1, unit.spec.protocol.packet_flits):
        points[f"yields_at_flit_{k}"] = f"goes && !ports__may && sent == {k}"
    return Points(
        points,
        (
            "logic [7:0] sent;",
            "always @(posedge clk) if (rst) sent <= 0;",
            "else if (fire) sent <= ending ? 0 : sent + 1;",
        ),
    )


@watches(Scheduler)
def _scheduler(unit: Scheduler) -> Points:
    points = {
        "phase_is_halted_while_served": "halt__asked && service__active && !service__online "
        "&& service__phase == halt__number && service__runs",
        "phase_is_halted_before_it_is_served": "halt__asked && service__load "
        "&& service__following == halt__number",
        "unicasts_are_preempted": "preempts && service__online",
    }
    classes = unit.spec.protocol.channels.names
    for low, less in enumerate(classes):
        for high, more in enumerate(classes[:low]):
            points[f"{more}_preempts_{less}"] = (
                f"preempts && !service__online && service__circuit[{low}] && circuit[{high}]"
            )
    return Points(points)


@watches(SwitchCore)
def _core(unit: SwitchCore) -> Points:
    states = {
        "nothing_is_served": "!active",
        "a_phase_is_served": "active && !dispatcher_service_online && !dispatcher_service_leaving",
        "a_phase_yields": "active && !dispatcher_service_online && dispatcher_service_leaving",
        "unicasts_are_served": "active && dispatcher_service_online",
    }
    return Points(
        {f"retransmission_while_{k}": f"|acknowledger_retransmit && {v}" for k, v in states.items()}
    )


@watches(Acknowledger)
def _acknowledger(unit: Acknowledger) -> Points:
    """Return a point for a nack that arrives in each state after the reset."""
    place = message_layout(unit.spec)["kind"]
    kind = f"[{place.offset + place.width - 1}:{place.offset}]"
    nacks = " || ".join(
        f"(message__{k}__valid && message__{k}__payload{kind} == {int(Kind.NACK)})"
        for k in range(unit.spec.ports)
    )
    return Points(
        {
            f"nack_comes_in_{name}": f"({nacks}) && state[{k}]"
            for k, name in enumerate(STATES)
            if name != "reset"
        }
    )
