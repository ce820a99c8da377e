"""Signatures between the ports of a switch and what moves and acknowledges packets."""

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import number_bits
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.member import Bundle, member
from fred_hw.per_class import array_per_class, per_class
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import CLASS_BITS

__all__ = ["Due", "Event", "Head", "Injection", "mark_layout", "port_bits"]


class Head(Bundle):
    """Packets at the heads of an input port's queues, and the fate of the chosen one."""

    waiting = member(Out, per_class)
    """For each channel whether a packet may start."""
    anew = member(Out, per_class)
    """For each channel whether it has just reached the head, or started in the previous cycle."""
    of_phase = member(Out, per_class)
    """For each channel whether the packet at the head belongs to the served phase."""
    descriptor: data.View = member(Out, array_per_class(descriptor_layout))
    """For each channel the descriptor of the packet at the head."""
    exits: data.View = member(Out, array_per_class(lambda spec: port_bits(spec)))
    """Output ports of the unicasts among them."""
    coming: data.View = member(Out, array_per_class(lambda spec: spec.ports))
    """For each channel the destination of the next unicast; see ``NextUnicast``."""
    circuit = member(In, CLASS_BITS)
    """Channel that is served."""
    start = member(In, 1)
    """Start the packet of the served channel; see ``CircuitQueue``."""
    take = member(In, 1)
    """Take a flit of the packet."""
    finish = member(In, 1)
    """End the packet."""
    valid = member(Out, per_class)
    """For each channel: a flit is at its head."""
    last = member(Out, per_class)
    """For each channel: that flit ends the packet."""
    broken = member(Out, per_class)
    """For each channel: the rest of the packet is missing and will not arrive."""


class Injection(Bundle):
    """Flits that enter the interconnect for an output port."""

    space = member(In, lambda spec: len(spec.protocol.buffers))
    """For each of the receiver's B buffers whether a largest packet may start."""
    start = member(Out, 1)
    """Reserve that space for a packet; high for one cycle, with its first flit or before it."""
    fire = member(Out, 1)
    """A flit for this port enters the interconnect."""
    last = member(Out, 1)
    """The flit ends its packet."""
    circuit = member(Out, lambda spec: spec.protocol.fields["circuit"])
    """Buffer of the packet, with ``start``; stays until the packet ends."""
    descriptor: data.View = member(Out, descriptor_layout)
    """Descriptor of the packet, with ``start``."""
    bad = member(Out, 1)
    """The packet that ends must not be used."""


class Due(Bundle):
    """Expected packet numbers at an input port."""

    key = member(In, number_bits)
    """A phase."""
    due = member(Out, lambda spec: spec.protocol.fields["sequence"])
    """Expected number of the phase ``key``, in the next cycle."""
    write = member(In, 1)
    """Write the expected number of a phase; no packet may start in this cycle."""
    at = member(In, number_bits)
    """The phase to write."""
    number = member(In, lambda spec: spec.protocol.fields["sequence"])
    """The expected number to write."""
    generation = member(In, lambda spec: spec.protocol.fields["generation"])
    """Generation of the phase's packets, to write."""


class Event(Bundle):
    """A dropped packet."""

    late = member(Out, 1)
    """The dropped packet is older than the one that is due. High until ``taken``, or until packet
    numbers are written."""
    early = member(Out, 1)
    """The dropped packet is newer than the one that is due. High until ``taken``, or until packet
    numbers are written."""
    key = member(Out, number_bits)
    """Phase of the dropped packet."""
    taken = member(In, 1)
    """The event has been read."""


def mark_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a flit without payload: ``first``, ``last`` and ``descriptor``.

    A unicast leaves by the port ``exit``.
    """
    descriptor = descriptor_layout(spec)
    return data.StructLayout(
        {"first": 1, "last": 1, "descriptor": descriptor, "exit": port_bits(spec)}
    )


def port_bits(spec: SwitchSpec) -> int:
    """Return the bits of a port number."""
    return (spec.ports - 1).bit_length()
