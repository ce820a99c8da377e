"""Receiving part of a port: link layer and one queue per virtual channel."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from fred_hw.datapath.flit import Flit
from fred_hw.gates.memory_ports import read_port, write_port
from fred_hw.gates.select import one_hot_mux, selected
from fred_hw.link.credits import Credits
from fred_hw.link.deframer import Deframer
from fred_hw.link.flit import LinkFlit
from fred_hw.link.message import Message
from fred_hw.link.session import Handshake
from fred_hw.member import member
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .flit_queue import FlitQueue
from .signatures import port_bits

__all__ = ["Arrivals", "join_queues", "store_payload"]


class Arrivals(Unit):
    """Receive flits from a link; base of input ports.

    Attributes
    ----------
    spec : SwitchSpec
        Sizes.
    """

    spec: SwitchSpec
    i: LinkFlit = member(In, lambda u: LinkFlit.signature(u.spec))
    """Flits from outside."""
    flit: Flit = member(Out, lambda u: Flit.signature(u.spec.data_width))
    """The flits that are taken."""
    credit: Credits = member(Out, lambda u: Credits.signature(u.spec))
    """See ``Deframer``."""
    message: Message = member(Out, lambda u: Message.signature(u.spec))
    """See ``Deframer``; of a router, messages about unicasts only."""
    handshake: Handshake = member(Out, Handshake.signature())
    """See ``Session``."""
    down = member(In, 1)
    """See ``Session``."""
    exit = member(Out, lambda u: port_bits(u.spec))
    """Port by which a ``message`` about a unicast leaves."""
    came = member(Out, 1)
    """High for a cycle for each accepted flit."""
    dropped = member(Out, 1)
    """High for a cycle for each dropped flit. A packet that is dropped because it is of another
    generation counts as one; several in the same cycle count once."""
    length = member(Out, 1)
    """High for a cycle for each packet that is too long."""
    kind = member(Out, 1)
    """High for a cycle for each flit whose kind does not exist."""
    overflow = member(Out, 1)
    """High for a cycle for each flit that finds its buffer full."""
    stuck = member(Out, 1)
    """High for a cycle for each packet that waited too long at the head of a queue."""
    route = member(Out, 1)
    """High for a cycle for each packet and message without a route; of a router, these include all
    those of phases."""


def join_queues(
    m: Module, port: Arrivals, queues: Sequence[FlitQueue], astray: Value
) -> tuple[Deframer, list[Value]]:
    """Place the link layer of a port with its queues; drop stray packets.

    Return it, and for each queue whether more of its last flit's packet may arrive.

    Parameters
    ----------
    m : Module
        Module of both.
    port : Arrivals
        Has the members of ``InputPort``.
    queues : sequence of FlitQueue
        One for each buffer.
    astray : Value
        Whether the received flit or message has no route.
    """
    deframer = place(m, "deframer", Deframer(spec=port.spec))
    wiring.connect(m, wiring.flipped(port.i), deframer.i)
    wiring.connect(m, deframer.credit, wiring.flipped(port.credit))
    wiring.connect(m, deframer.handshake, wiring.flipped(port.handshake))
    word, message = deframer.o[0].word, deframer.message
    message_astray, begins, lost = (
        Signal(name=name) for name in ("message_astray", "begins", "lost")
    )
    m.d.comb += [
        deframer.down.eq(port.down),
        message_astray.eq(message.valid & astray),
        begins.eq(Cat(arrival.valid for arrival in deframer.o).any() & word.first),
        port.route.eq(message_astray | (begins & astray)),
        port.message.valid.eq(message.valid & ~message_astray),
        port.message.payload.eq(message.payload),
    ]
    with m.If(begins):
        m.d.sync += lost.eq(astray)
    for arrival, queue in zip(deframer.o, queues, strict=True):
        mark = queue.mark
        m.d.comb += [
            queue.arrives.eq(arrival.valid & ~astray),
            arrival.ready.eq(queue.ready | astray),
            arrival.used.eq(queue.used),
            mark.exit.eq(port.exit),
            mark.first.eq(word.first),
            mark.last.eq(word.last),
            *(
                mark.descriptor[name].eq(word.descriptor[name])
                for name, _ in data.Layout.cast(mark.descriptor.shape())
            ),
        ]
    m.d.comb += [
        port.came.eq(deframer.came),
        port.overflow.eq(deframer.overflow),
        port.kind.eq(deframer.kind_error),
        port.length.eq(deframer.length_error),
    ]
    return deframer, [arrival.incoming & ~lost for arrival in deframer.o]


def store_payload(m: Module, queues: Sequence[FlitQueue], word: data.View, head: Any) -> ReadPort:
    """Store the payload of all buffers in one memory; return its read port.

    Parameters
    ----------
    m : Module
        Module of the memory.
    queues : sequence of FlitQueue
        One for each buffer.
    word : View
        The flit that arrives for one of them, see ``Arrival``.
    head : interface
        Interface with ``circuit``, ``take`` and ``valid`` as in ``Head``.
    """
    depth = queues[0].spec.protocol.buffer_flits
    came = Signal(len(queues), name="payload_came")
    memory = m.submodules.payload = Memory(shape=len(word.data), depth=len(came) * depth, init=[])
    write, read = write_port(memory, "payload_write"), read_port(memory, "payload_read")
    tails = [queue.tail + number * depth for number, queue in enumerate(queues)]
    places = [queue.place + number * depth for number, queue in enumerate(queues)]
    m.d.comb += [
        came.eq(Cat(queue.arrives & queue.ready for queue in queues)),
        write.en.eq(came.any()),
        write.addr.eq(one_hot_mux(came, tails)),
        write.data.eq(word.data),
        read.en.eq(head.take & selected(head.circuit, list(head.valid))),
        read.addr.eq(selected(head.circuit, places)),
    ]
    return read
