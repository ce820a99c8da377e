"""Queue of messages and input-port events for the acknowledger."""

from collections.abc import Iterator

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import next_grant, one_hot_mux
from fred_hw.link.descriptor import FLOW
from fred_hw.link.message import Message, message_layout
from fred_hw.member import member
from fred_hw.per_class import channels_of
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .message_queue import MessageQueue
from .ports.signatures import Event, port_bits

__all__ = ["CaseQueue", "case_layout"]


def case_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a message or event of a port, with its flow.

    ``from_input``: from an input of the flow, otherwise from an output; ``late``: requests the
    smallest ack; ``nacks``: requests the expected number; ``of_neighbour``: from a neighbour,
    for ``generation``; ``passes``: about a unicast, and forwarded unchanged by the port ``exit``.
    """
    fields, port = spec.protocol.fields, port_bits(spec)
    layout = {
        "kind": fields["kind"],
        "from_input": 1,
        "late": 1,
        "nacks": 1,
        "number": fields["sequence"],
        "port": port,
        "of_neighbour": 1,
        "passes": 1,
        "exit": port,
        **{name: fields[name] for name in FLOW},
    }
    return data.StructLayout(layout)


class CaseQueue(Unit):
    """Queue messages, and give the next message or event, round-robin over the ports.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from a message to ``found``, none from an event; 1 cycle from ``pick`` to
        ``served`` and to ``event.taken``.
    Throughput : one in 2 cycles.
    Paths : ``event`` to ``found``.
    Reset : forgets all messages.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    message: list[Message] = member(
        In, lambda u: Message.signature(u.spec), array=lambda u: u.spec.ports
    )
    """Messages from the neighbours, each port with a ``MessageQueue``."""
    exits: data.View = member(In, lambda u: data.ArrayLayout(port_bits(u.spec), u.spec.ports))
    """Ports by which messages about unicasts leave."""
    event: list[Event] = member(In, lambda u: Event.signature(u.spec), array=lambda u: u.spec.ports)
    """Events of the input ports, which follow the messages in each round."""
    found = member(Out, 1)
    """There is a message or an event."""
    pick = member(In, 1)
    """Take it. Neither ``found`` nor ``pick`` counts in the cycle after ``pick``, in which it
    leaves."""
    served: data.View = member(Out, lambda u: case_layout(u.spec))
    """The message or event that was taken, from the next cycle on."""
    lost = member(Out, lambda u: u.spec.ports)
    """High for a cycle for each port that loses a message."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("CaseQueue", spec)
        self.unit_name = f"case_queue_p{spec.ports}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        ports = self.spec.ports
        taken = Signal(2 * ports)
        waiting = Signal(2 * ports, name="cases_waiting")
        behind = Signal(2 * ports)
        there, offers = zip(
            *self._messages(m, taken[:ports]), *self._events(m, taken[ports:]), strict=True
        )
        chosen, later = next_grant(m, "grant", waiting, behind)
        m.d.comb += [waiting.eq(Cat(there)), self.found.eq(waiting.any())]
        # The picked port settles late, and leaves its queue in the next cycle.
        m.d.sync += taken.eq(chosen & self.pick.replicate(2 * ports))
        with m.If(self.pick):
            m.d.sync += [
                behind.eq(later),
                self.served.as_value().eq(one_hot_mux(chosen, list(offers))),
            ]

    def _messages(self, m: Module, taken: Value) -> Iterator[tuple[Value, data.View]]:
        """Queue messages; yield, for each port, whether there is one, and the case."""
        names = message_layout(self.spec).members
        kept = data.StructLayout({**names, "exit": port_bits(self.spec)})
        for k, message in enumerate(self.message):
            queue = place(m, f"messages_{k}", MessageQueue(layout=kept, channels=channels_of(self)))
            case, own = Signal(case_layout(self.spec), name=f"reported_{k}"), queue.o.payload
            asks = own.kind == Kind.ASK
            m.d.comb += [
                self.lost[k].eq(queue.lost),
                queue.i.valid.eq(message.valid),
                *(queue.i.payload[name].eq(message.payload[name]) for name in names),
                queue.i.payload.exit.eq(self.exits[k]),
                queue.o.ready.eq(taken[k]),
                case.kind.eq(own.kind),
                case.from_input.eq(asks),
                case.late.eq(asks),
                case.nacks.eq(asks),
                *(case[name].eq(own[name]) for name in FLOW),
                case.passes.eq(own.phase == self.spec.protocol.online),
                case.exit.eq(own.exit),
                case.number.eq(own.sequence),
                case.port.eq(k),
                case.of_neighbour.eq(1),
            ]
            yield queue.o.valid, case

    def _events(self, m: Module, taken: Value) -> Iterator[tuple[Value, data.View]]:
        """Yield, for each port, whether there is an event, and the case."""
        for k, event in enumerate(self.event):
            case = Signal(case_layout(self.spec), name=f"event_{k}")
            m.d.comb += [
                case.kind.eq(Kind.ASK),
                case.from_input.eq(1),
                case.late.eq(event.late),
                case.nacks.eq(event.early),
                case.phase.eq(event.key),
                case.port.eq(k),
                event.taken.eq(taken[k]),
            ]
            yield event.late | event.early, case
