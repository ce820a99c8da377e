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
    """Waiting packets and buffer space of a port."""

    waiting: Signal
    space: Signal
    reaches: Signal
    phases: data.View
    serves: data.View


class PhaseUpdate(wiring.PureInterface):
    """Entry fields that concern the phase as a whole."""

    write: Signal
    number: Signal
    used: Signal
    circuit: Signal
    takes: Signal
    gives: Signal


class PhaseHalt(wiring.PureInterface):
    """A phase that must stop before it changes."""

    asked: Signal
    number: Signal
    stands: Signal


class Service(wiring.PureInterface):
    """The served phase, and the progress of its service."""

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
        One bit for each channel. ``waiting``: a packet of the channel waits at this port.
        ``space``: the output of this port has space for the channel. ``reaches``: the output of the
        waiting unicast has space.
    phases : Out(ArrayLayout(phase, 3))
        Phases of the waiting packets.
    serves : In(ArrayLayout(phases, 3))
        For each channel the phases that take packets from this port.
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
    """Return the signature of phase updates.

    Members
    -------
    write, number : Out(1), Out(number_bits(spec))
        Update the state of a phase; its number.
    used, circuit : Out(1), Out(2)
        Whether the phase exists, and its channel.
    takes, gives : Out(P), Out(P)
        Input ports and output ports of the phase.
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
    """Return the signature that stops a phase.

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
    """Return the signature of the served phase, as seen by the scheduler.

    Members
    -------
    active, online, phase, circuit : Out(1), Out(1), Out(phase), Out(3)
        Whether something is served, whether it is a unicast, its phase, and the phase's
        channel, one-hot, or 0 before the first phase; unicasts of all channels are served together.
    load, following : Out(1), Out(phase)
        In the next cycle something else is served; if it is a phase, with the available entry. Its
        phase, as ``phase`` will be.
    leaving : Out(1)
        No packet may start.
    runs, stands, rests : In(1)
        A packet that has started continues in the next cycle; none is being sent or starts; none is
        being sent, or would start if allowed.
    ran, under : In(3), In(3)
        Channels on which a packet starts; on which one is being sent.
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
