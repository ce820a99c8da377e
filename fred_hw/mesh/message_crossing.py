"""Acks and nacks of unicasts, from router inputs to outputs."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import one_hot_mux, round_robin
from fred_hw.link.descriptor import FLOW
from fred_hw.link.message import Message, message_layout, message_stream
from fred_hw.member import member
from fred_hw.per_class import channels_of
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.switch.message_queue import MessageQueue
from fred_hw.switch.ports.signatures import port_bits
from fred_hw.unit import Unit, place

__all__ = ["MessageCrossing"]

FIELDS = ("kind", *FLOW[2:], "sequence")
"""Fields kept of a message, which has no phase."""


class MessageCrossing(Unit):
    """Forward control messages, each to the output in its ``exit``.

    Arriving messages cannot be held back. Each input and each output has a queue, in which a newer
    message replaces one about the same flow, and a message that does not fit is lost; its source
    repeats it. An output sends a message per cycle, round-robin over the inputs.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes of the router.

    Timing
    ------
    Latency : 2 cycles from ``i`` to ``o``.
    Throughput : a message per port and cycle.
    Paths : none.
    Reset : forgets all messages.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    i: list[Message] = member(In, lambda u: Message.signature(u.spec), array=lambda u: u.spec.ports)
    """Messages about unicasts."""
    exits: list[Signal] = member(In, lambda u: port_bits(u.spec), array=lambda u: u.spec.ports)
    """Outputs by which they leave."""
    o: list[stream.Interface] = member(
        Out, lambda u: message_stream(u.spec), array=lambda u: u.spec.ports
    )
    """The same messages, at their outputs."""
    lost = member(Out, lambda u: u.spec.ports)
    """High for a cycle for each message that is lost at an input, or at an output of that number;
    two in the same cycle count once."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("MessageCrossing", spec)
        self.unit_name = f"message_crossing_p{spec.ports}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        ports, bits = range(self.spec.ports), port_bits(self.spec)
        fields, channels = dict(message_layout(self.spec).members), channels_of(self)
        own = {name: fields[name] for name in FIELDS}
        with_exit = data.StructLayout({**own, "exit": bits})
        ins = [
            place(m, f"in_{k}", MessageQueue(layout=with_exit, channels=channels)) for k in ports
        ]
        outs = [
            place(m, f"out_{k}", MessageQueue(layout=data.StructLayout(own), channels=channels))
            for k in ports
        ]
        for k, queue in enumerate(ins):
            came = self.i[k].payload
            m.d.comb += [
                queue.i.valid.eq(self.i[k].valid),
                queue.i.payload.exit.eq(self.exits[k]),
                *(queue.i.payload[name].eq(came[name]) for name in FIELDS),
            ]
        taken: list[Value] = []
        for j, queue in enumerate(outs):
            asks, recent = (
                Signal(len(ports), name=f"asks_{j}"),
                Signal(len(ports), name=f"last_{j}"),
            )
            m.d.comb += asks.eq(Cat(one.o.valid & (one.o.payload.exit == j) for one in ins))
            chosen = round_robin(m, f"to_{j}", asks, recent)
            with m.If(chosen.any()):
                m.d.sync += recent.eq(chosen)
            taken.append(chosen)
            m.d.comb += queue.i.valid.eq(asks.any())
            m.d.comb += [
                queue.i.payload[name].eq(one_hot_mux(chosen, [one.o.payload[name] for one in ins]))
                for name in FIELDS
            ]
            self._give(m, queue, self.o[j])
        for k, queue in enumerate(ins):
            m.d.comb += queue.o.ready.eq(Cat(chosen[k] for chosen in taken).any())
        m.d.comb += self.lost.eq(
            Cat(one.lost | two.lost for one, two in zip(ins, outs, strict=True))
        )

    def _give(self, m: Module, queue: MessageQueue, o: stream.Interface) -> None:
        """Offer the message queued for an output."""
        m.d.comb += [
            o.valid.eq(queue.o.valid),
            queue.o.ready.eq(o.ready),
            o.payload.phase.eq(self.spec.protocol.online),
            *(o.payload[name].eq(queue.o.payload[name]) for name in FIELDS),
        ]
