"""Receiving part of a port: link layer and one queue per virtual channel."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort

from fred_hw.datapath.flit import Flit
from fred_hw.gates.select import one_hot_mux, selected
from fred_hw.link.credits import Credits
from fred_hw.link.deframer import Deframer
from fred_hw.link.flit import LinkFlit
from fred_hw.link.message import Message
from fred_hw.link.session import Handshake
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .flit_queue import FlitQueue

__all__ = ["Arrivals", "join_queues", "store_payload"]


class Arrivals(Unit):
    """Receive flits from a link; base of input ports.

    Attributes
    ----------
    spec : SwitchSpec
        Sizes.
    """

    spec: SwitchSpec
    i: LinkFlit
    flit: Flit
    credit: Credits
    message: Message
    handshake: Handshake
    down: Signal
    exit: Signal
    came: Signal
    dropped: Signal
    length: Signal
    kind: Signal
    overflow: Signal
    stuck: Signal
    route: Signal


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
        The flit that arrives for one of them, see ``arrival_signature``.
    head : interface
        Interface with ``circuit``, ``take`` and ``valid`` as in ``head_signature``.
    """
    came, depth = Signal(len(queues)), queues[0].spec.protocol.buffer_flits
    memory = m.submodules.payload = Memory(shape=len(word.data), depth=len(came) * depth, init=[])
    write, read = memory.write_port(), memory.read_port()
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
