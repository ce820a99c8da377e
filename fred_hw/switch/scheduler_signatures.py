"""Signals between the scheduler and ports, phases and the dispatcher."""

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import number_bits
from fred_hw.member import Bundle, member
from fred_hw.per_class import array_per_class, per_class
from fred_hw.virtual_channels import CLASS_BITS

__all__ = ["PhaseHalt", "PhaseUpdate", "PortHints", "Service"]


class PortHints(Bundle):
    """Waiting packets and buffer space of a port, as seen by the port."""

    waiting = member(Out, per_class)
    """For each channel: a packet waits at this port."""
    space = member(Out, per_class)
    """For each channel: the output of this port has space."""
    reaches = member(Out, per_class)
    """For each channel: the output of the waiting unicast has space."""
    phases: data.View = member(Out, array_per_class(lambda spec: spec.protocol.fields["phase"]))
    """Phases of the waiting packets."""
    serves: data.View = member(In, array_per_class(lambda spec: spec.protocol.phases))
    """For each channel the phases that take packets from this port."""


class PhaseUpdate(Bundle):
    """Entry fields that concern the phase as a whole."""

    write = member(Out, 1)
    """Update the state of a phase."""
    number = member(Out, number_bits)
    """Number of the phase."""
    used = member(Out, 1)
    """Whether the phase exists."""
    circuit = member(Out, CLASS_BITS)
    """Virtual channel of the phase."""
    takes = member(Out, lambda spec: spec.ports)
    """Input ports of the phase."""
    gives = member(Out, lambda spec: spec.ports)
    """Output ports of the phase."""


class PhaseHalt(Bundle):
    """A phase that must stop before it changes."""

    asked = member(Out, 1)
    """No packet of the phase may start. Stays until the phase has changed, and is then low for a
    cycle at least."""
    number = member(Out, number_bits)
    """Number of the phase."""
    stands = member(In, 1)
    """No packet of the phase is under way."""


class Service(Bundle):
    """The served phase, and the progress of its service, as seen by the scheduler."""

    active = member(Out, 1)
    """Whether something is served."""
    online = member(Out, 1)
    """Whether unicasts are served; those of all channels are served together."""
    phase = member(Out, lambda spec: spec.protocol.fields["phase"])
    """The served phase."""
    circuit = member(Out, per_class)
    """Virtual channel of the phase, one-hot; 0 before the first phase."""
    load = member(Out, 1)
    """In the next cycle something else is served; if it is a phase, with the available entry."""
    following = member(Out, lambda spec: spec.protocol.fields["phase"])
    """Phase that is served in the next cycle, as ``phase`` will be."""
    leaving = member(Out, 1)
    """No packet may start."""
    runs = member(In, 1)
    """A packet that has started continues in the next cycle."""
    stands = member(In, 1)
    """No packet is being sent or starts."""
    rests = member(In, 1)
    """No packet is being sent, or would start if allowed."""
    ran = member(In, per_class)
    """Channels on which a packet starts."""
    under = member(In, per_class)
    """Channels on which a packet is being sent."""
