"""Signatures between the ports of a switch and what moves and acknowledges packets."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import number_bits
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.protocol import DATA_COUNT
from fred_hw.spec import SwitchSpec

__all__ = [
    "Due",
    "Event",
    "Head",
    "Injection",
    "due_signature",
    "event_signature",
    "head_signature",
    "injection_signature",
    "mark_layout",
    "port_bits",
]


class Head(wiring.PureInterface):
    """Packets at the heads of an input port's queues, and the fate of the chosen one."""

    waiting: Signal
    anew: Signal
    of_phase: Signal
    descriptor: data.View
    exits: data.View
    coming: data.View
    circuit: Signal
    start: Signal
    take: Signal
    finish: Signal
    valid: Signal
    broken: Signal
    last: Signal


class Injection(wiring.PureInterface):
    """Flits that enter the interconnect for an output port."""

    space: Signal
    start: Signal
    fire: Signal
    last: Signal
    bad: Signal
    circuit: Signal
    descriptor: data.View


class Due(wiring.PureInterface):
    """Expected packet numbers at an input port."""

    key: Signal
    due: Signal
    write: Signal
    at: Signal
    number: Signal
    generation: Signal


class Event(wiring.PureInterface):
    """A dropped packet."""

    late: Signal
    early: Signal
    key: Signal
    taken: Signal


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


def head_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the packets at an input port.

    Members
    -------
    waiting, descriptor : Out(3), Out(ArrayLayout(descriptor_layout(spec), 3))
        For each channel whether a packet may start, and its descriptor.
    anew : Out(3)
        For each channel whether it has just reached the head, or started in the previous cycle.
    of_phase : Out(3)
        For each channel whether that packet belongs to the served phase.
    exits : Out(ArrayLayout(port_bits(spec), 3))
        Output ports of the unicasts among them.
    coming : Out(ArrayLayout(P, 3))
        For each channel the destination of the next unicast; see ``NextUnicast``.
    circuit : In(2)
        Channel that is served.
    start, take, finish : In(1)
        Start its packet, take a flit of it, end it; see ``CircuitQueue``.
    valid, last : Out(3), Out(3)
        For each channel: a flit is at its head; it ends the packet.
    broken : Out(3)
        The rest of the packet is missing and will not arrive.
    """
    members = {
        "waiting": Out(DATA_COUNT),
        "anew": Out(DATA_COUNT),
        "of_phase": Out(DATA_COUNT),
        "descriptor": Out(data.ArrayLayout(descriptor_layout(spec), DATA_COUNT)),
        "exits": Out(data.ArrayLayout(port_bits(spec), DATA_COUNT)),
        "coming": Out(data.ArrayLayout(spec.ports, DATA_COUNT)),
        "circuit": In(2),
        "start": In(1),
        "take": In(1),
        "finish": In(1),
        **dict.fromkeys(("valid", "last", "broken"), Out(DATA_COUNT)),
    }
    return wiring.Signature(members)


def injection_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of flits that enter the interconnect for an output port.

    Members
    -------
    space : In(B)
        For each of the receiver's B buffers whether a largest packet may start.
    start : Out(1)
        Reserve that space for a packet; high for one cycle, with its first flit or before it.
    fire, last : Out(1)
        A flit for this port enters the interconnect; it ends its packet.
    bad : Out(1)
        The packet that ends must not be used.
    circuit, descriptor : Out(circuit), Out(descriptor_layout(spec))
        Descriptor of the packet, with ``start``; its buffer stays until it ends.
    """
    members = {
        "space": In(len(spec.protocol.buffers)),
        "start": Out(1),
        "fire": Out(1),
        "last": Out(1),
        "circuit": Out(spec.protocol.fields["circuit"]),
        "descriptor": Out(descriptor_layout(spec)),
        "bad": Out(1),
    }
    return wiring.Signature(members)


def due_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the expected numbers at an input port.

    Members
    -------
    key, due : In(number_bits(spec)), Out(sequence)
        A phase, and in the next cycle its expected number.
    write, at, number, generation : In(1), In(number_bits(spec)), In(sequence), In(generation)
        Write the expected number of a phase, and the generation of its packets; no packet may start
        in this cycle.
    """
    fields = spec.protocol.fields
    members = {
        "key": In(number_bits(spec)),
        "due": Out(fields["sequence"]),
        "write": In(1),
        "at": In(number_bits(spec)),
        "number": In(fields["sequence"]),
        "generation": In(fields["generation"]),
    }
    return wiring.Signature(members)


def event_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of packets dropped for an unexpected number.

    Members
    -------
    late, early : Out(1)
        The dropped packet is older, or newer, than the one that is due. High until ``taken``, or
        until packet numbers are written.
    key : Out(number_bits(spec))
        Phase of the dropped packet.
    taken : In(1)
        The event has been read.
    """
    return wiring.Signature(
        {"late": Out(1), "early": Out(1), "key": Out(number_bits(spec)), "taken": In(1)}
    )
