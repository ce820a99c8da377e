"""Signals between the scheduler and ports, phases and the dispatcher."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import number_bits
from fred_hw.protocol import DATA_COUNT
from fred_hw.spec import SwitchSpec

__all__ = [
    "PhaseHalt",
    "PhaseUpdate",
    "PortHints",
    "Service",
    "phase_halt_signature",
    "phase_update_signature",
    "port_hints_signature",
    "service_signature",
]


class PortHints(wiring.PureInterface):
    """Waiting packets and free space of a port."""

    waiting: Signal
    space: Signal
    reaches: Signal
    phases: data.View
    serves: data.View


class PhaseUpdate(wiring.PureInterface):
    """Contents of an entry about its phase."""

    write: Signal
    number: Signal
    used: Signal
    circuit: Signal
    takes: Signal
    gives: Signal


class PhaseHalt(wiring.PureInterface):
    """A phase that must stand still before it changes."""

    asked: Signal
    number: Signal
    stands: Signal


class Service(wiring.PureInterface):
    """What is served, and how it goes."""

    active: Signal
    online: Signal
    phase: Signal
    circuit: Signal
    load: Signal
    following: Signal
    leaving: Signal
    runs: Signal
    stands: Signal
    rests: Signal
    ran: Signal
    under: Signal


def port_hints_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature between a port and the scheduler.

    Members
    -------
    waiting, space, reaches : Out(3)
        For each circuit: a packet waits; the output has space; the output that the packet is for
        has, if it is of the default index.
    phases : Out(ArrayLayout(phase, 3))
        Phases of the packets that wait.
    serves : In(ArrayLayout(phases, 3))
        For each circuit the phases that take packets from this port.
    """
    phase = spec.protocol.fields["phase"]
    members = {
        "waiting": Out(DATA_COUNT),
        "space": Out(DATA_COUNT),
        "reaches": Out(DATA_COUNT),
        "phases": Out(data.ArrayLayout(phase, DATA_COUNT)),
        "serves": In(data.ArrayLayout(spec.protocol.phases, DATA_COUNT)),
    }
    return wiring.Signature(members)


def phase_update_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of updates of a phase.

    Members
    -------
    write, number : Out(1), Out(number_bits(spec))
        Change what is known of a phase, which.
    used, circuit : Out(1), Out(2)
        Whether there is such a phase, and its circuit.
    takes, gives : Out(P), Out(P)
        Ports that it takes packets from, and gives them to.
    """
    members = {
        "write": Out(1),
        "number": Out(number_bits(spec)),
        "used": Out(1),
        "circuit": Out(2),
        "takes": Out(spec.ports),
        "gives": Out(spec.ports),
    }
    return wiring.Signature(members)


def phase_halt_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of what makes a phase stand still.

    Members
    -------
    asked, number : Out(1), Out(number_bits(spec))
        No packet of the phase may start; stays until the phase has changed, and is then low for a
        cycle at least.
    stands : In(1)
        None is under way.
    """
    return wiring.Signature({"asked": Out(1), "number": Out(number_bits(spec)), "stands": In(1)})


def service_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of what is served, as the scheduler sees it.

    Members
    -------
    active, online, phase, circuit : Out(1), Out(1), Out(phase), Out(3)
        Whether something is served, whether that is the default index, its phase, and the circuit
        of the phase as the bit that is high, 0 before the first; unicasts of all circuits are
        served together.
    load, following : Out(1), Out(phase)
        In the next cycle something else is served; if it is a phase, by the entry that is there.
        Its phase, as ``phase`` will say it.
    leaving : Out(1)
        No packet may start.
    runs, stands, rests : In(1)
        A packet that has started before goes on in the next cycle; none is under way or starts;
        none is under way or would start if it may.
    ran, under : In(3), In(3)
        Circuits on which a packet starts; on which one is under way.
    """
    members = {
        "active": Out(1),
        "online": Out(1),
        "phase": Out(spec.protocol.fields["phase"]),
        "circuit": Out(DATA_COUNT),
        "load": Out(1),
        "following": Out(spec.protocol.fields["phase"]),
        "leaving": Out(1),
        "runs": In(1),
        "stands": In(1),
        "rests": In(1),
        "ran": In(DATA_COUNT),
        "under": In(DATA_COUNT),
    }
    return wiring.Signature(members)
