"""Source of a flow: a window of packets, retransmitted from the first lost one."""

from typing import NamedTuple

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.gates.memory_ports import read_port, write_port
from fred_hw.gates.select import selected
from fred_hw.link.crowding import crowding_layout
from fred_hw.link.message import Message
from fred_hw.link.packet_stream import PayloadStream
from fred_hw.member import member
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import Unit, place

from .departure import Departure
from .flow import flow_layout, same_flow
from .ledger import Ledger
from .route_keeper import RouteKeeper

__all__ = ["FlowSender", "replay_name", "replay_packets"]


def replay_packets(spec: SwitchSpec) -> int:
    """Return the packets that a source keeps: the window, or the replay memory if smaller."""
    return spec.endpoint.replay_packets or spec.protocol.window_packets


def replay_name(name: str, spec: SwitchSpec) -> str:
    """Return the name of a unit whose hardware also depends on the replay memory."""
    kept = replay_packets(spec)
    extra = "" if kept == spec.protocol.window_packets else f"_k{kept}"
    return sized_name(name, spec) + extra


class _Window(NamedTuple):
    """Window state: packets from ``oldest`` on are kept, those before ``begun`` were sent.

    ``following`` begins next and ``newest`` comes in.
    """

    oldest: Signal
    following: Signal
    begun: Signal
    newest: Signal


class _Kept(NamedTuple):
    """Flits of the packets in the window, and the position of each packet's last flit."""

    flits: Memory
    lasts: Memory


class FlowSender(Unit):
    """Send the packets of a flow, with go-back-N retransmission after a nack or timeout.

    Packets are kept until they are acknowledged (docs/reference/protocol.md). A packet that has
    begun is sent to its end.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; ``spec.endpoint.replay_packets`` are kept, the whole window if it is 0.

    Timing
    ------
    Latency : 2 cycles from the last flit of a packet on ``i`` to ``o.waiting``; 1 from a flit
        taken to the flit.
    Throughput : one flit per cycle in and out, without a gap between packets, while the window has
        space.
    Paths : ``flow`` to ``i.ready``, ``message`` to ``retransmit``.
    Reset : forgets all packets and starts with number 0.
    """

    i: PayloadStream = member(In, lambda u: PayloadStream.signature(u.spec))
    """Packets; ``last`` ends one, and so does its ``packet_flits``-th flit."""
    address = member(In, lambda u: u.spec.protocol.fields["source"])
    """Address of this endpoint, the source of its unicasts."""
    flow: data.View = member(In, lambda u: flow_layout(u.spec))
    """The flow, with its destination for unicasts; constant while ``idle`` is low. Each flow
    continues with its own numbers, and in a new generation with 0."""
    clear = member(In, 1)
    """Restart the flow's numbers at 0; only while ``idle`` is high and no flit is offered, and not
    in the cycle in which the flow changes."""
    forget = member(In, lambda u: u.spec.protocol.phases)
    """Phases whose numbers restart at 0; that of the configured flow only while ``idle`` is high
    and no flit is offered."""
    idle = member(Out, 1)
    """All accepted packets are acknowledged."""
    message: Message = member(In, lambda u: Message.signature(u.spec))
    """Messages from the link. Acks and nacks of other flows and generations are ignored."""
    crowding: data.View = member(
        In, crowding_layout(), when=lambda u: u.spec.protocol.routes is not None
    )
    """If sources choose routes: the latest load report of the router."""
    o: Departure = member(Out, lambda u: Departure.signature(u.spec))
    """Packets to the ``Transmitter``."""
    retransmit = member(Out, 1)
    """High for a cycle when packets will be retransmitted."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("FlowSender", spec)
        self.unit_name = replay_name("flow_sender", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        spec, protocol = self.spec, self.spec.protocol
        bits = protocol.fields
        window = _Window(*(Signal(bits["sequence"], name=name) for name in _Window._fields))
        oldest, following, begun, newest = window
        # packet being sent
        busy = Signal()
        current = Signal.like(oldest)
        size = replay_packets(spec)
        kept = _Kept(
            Memory(shape=spec.data_width, depth=size * protocol.packet_flits, init=[]),
            Memory(shape=bits["last"], depth=size, init=[]),
        )
        m.submodules.memory, m.submodules.lasts = kept.flits, kept.lasts
        ledger = place(m, "ledger", Ledger(spec=spec))
        m.d.comb += [
            ledger.flow.eq(self.flow),
            ledger.write.eq(ledger.changed),
            ledger.number.eq(newest),
            ledger.clear.eq(self.clear),
            ledger.forget.eq(self.forget),
        ]
        anew = Signal()  # restart the configured flow at number 0
        m.d.comb += anew.eq(self.clear | selected(self.flow.phase, list(self.forget)))
        # A packet that is acknowledged while it is sent keeps its slot until it is sent completely.
        held = busy & (self._slot(current) == self._slot(newest))
        full = (newest - oldest)[: len(newest)] >= size
        partial = self._take_in(m, kept, newest, ~full & ~held & ~ledger.changed)
        m.d.comb += self.idle.eq((oldest == newest) & ~busy & ~partial)
        jump, target, acknowledged = self._listen(m, window)
        after = self._send(m, kept, window, busy, current)
        with m.If(jump):
            m.d.comb += after.eq(target)
        begins = self.o.take & ~busy & (following == begun)
        with m.If(begins):
            m.d.sync += begun.eq(begun + 1)
        m.d.sync += following.eq(after)
        known = Signal()  # the packet to start next is complete, and its length has been read
        m.d.sync += known.eq((after != newest) & ~anew)
        first = Mux(anew, 0, ledger.stored)
        if protocol.routes is None:
            m.d.comb += self.o.waiting.eq(known | busy)
        else:
            holds = self._keep_route(m, window, begins, acknowledged, ledger, anew)
            m.d.comb += self.o.waiting.eq((known & ~(holds & (following == begun))) | busy)
        with m.If(anew | ledger.changed):
            m.d.sync += [one.eq(first) for one in (oldest, following, begun, newest)]

    def _keep_route(
        self,
        m: Module,
        window: _Window,
        begins: Value,
        acknowledged: Value,
        ledger: Ledger,
        anew: Value,
    ) -> Value:
        """Choose the route of packets, and add it to the packets sent.

        Return whether no packet may begin that never did before.
        """
        keeper = place(m, "keeper", RouteKeeper(spec=self.spec))
        m.d.comb += [
            keeper.address.eq(self.address),
            keeper.flow.eq(self.flow),
            keeper.crowding.eq(self.crowding),
            keeper.oldest.eq(window.oldest),
            keeper.begun.eq(window.begun),
            keeper.begins.eq(begins),
            keeper.again.eq(self.retransmit),
            keeper.acknowledged.eq(acknowledged),
            keeper.number.eq(self.message.payload.sequence),
            keeper.load.eq(anew | ledger.changed),
            keeper.first.eq(Mux(anew, 0, ledger.stored)),
            ledger.route.eq(keeper.kept),
        ]
        with m.If(~anew):
            m.d.comb += keeper.stored.eq(ledger.stored_route)
        with m.If(self.o.take):
            m.d.sync += self.o.descriptor.alternate.eq(keeper.alternate)
        return keeper.holds

    def _slot(self, sequence: Value) -> Value:
        """Return the memory slot of a packet; the number of slots is a power of two."""
        return sequence[: (replay_packets(self.spec) - 1).bit_length()]

    def _take_in(self, m: Module, kept: _Kept, newest: Signal, space: Value) -> Value:
        """Write new packets behind those kept; return whether one is incomplete."""
        size, stream = self.spec.protocol.packet_flits, self.i
        index = Signal(self.o.index.shape())
        write = write_port(kept.flits, "flits_write")
        write_last = write_port(kept.lasts, "lasts_write")
        end = stream.last | (index == size - 1)
        take = Signal()
        m.d.comb += [
            stream.ready.eq(space),
            take.eq(stream.valid & stream.ready),
            write.addr.eq(self._slot(newest) * size + index),
            write.data.eq(stream.data),
            write.en.eq(take),
            write_last.addr.eq(self._slot(newest)),
            write_last.data.eq(index),
            write_last.en.eq(take & end),
        ]
        with m.If(take):
            m.d.sync += index.eq(index + 1)
            with m.If(end):
                m.d.sync += [index.eq(0), newest.eq(newest + 1)]
        return index != 0

    def _listen(self, m: Module, window: _Window) -> tuple[Value, Value, Value]:
        """Advance ``oldest`` on acks.

        Return whether to go on elsewhere, and where, and whether packets are acknowledged.
        """
        timeout, message = self.spec.protocol.timeout_cycles, self.message.payload
        oldest, following, begun, _ = window
        mine, acknowledged, nack, late, skip, back = (
            Signal(name=name) for name in ("mine", "acknowledged", "nack", "late", "skip", "back")
        )
        number = message.sequence
        timer = Signal(range(timeout + 1))
        ahead = (number - oldest)[: len(oldest)]
        m.d.comb += [
            mine.eq(
                self.message.valid
                & same_flow(self.spec, self.flow, message.phase, message.source)
                & (message.generation == self.flow.generation)
                & (ahead <= (begun - oldest)[: len(oldest)])
            ),
            acknowledged.eq(mine & (message.kind == Kind.ACK) & (ahead != 0)),
            nack.eq(mine & (message.kind == Kind.NACK)),
            late.eq((timer == timeout) & ~acknowledged),
            # Packets may be acknowledged while they wait for retransmission.
            skip.eq(acknowledged & ((following - oldest)[: len(oldest)] < ahead)),
            back.eq(nack & (number != following)),
            self.retransmit.eq(back | late),
        ]
        with m.If(acknowledged):
            m.d.sync += oldest.eq(number)
        with m.If(acknowledged | late | (oldest == begun)):
            m.d.sync += timer.eq(0)
        with m.Else():
            m.d.sync += timer.eq(timer + 1)
        return back | skip | late, Mux(back | skip, number, oldest), acknowledged

    def _send(
        self, m: Module, kept: _Kept, window: _Window, busy: Signal, current: Signal
    ) -> Signal:
        """Read flits; return the packet to start after this cycle by default."""
        size, o = self.spec.protocol.packet_flits, self.o
        index, length, here = (
            Signal(o.index.shape(), name=name) for name in ("send_index", "send_length", "here")
        )
        read, read_last = read_port(kept.flits, "flits_read"), read_port(kept.lasts, "lasts_read")
        after = Signal.like(current)
        number = Signal.like(current)
        m.d.comb += [
            here.eq(Mux(busy, length, read_last.data)),
            o.ends.eq(index == here),
            o.length.eq(here),
            number.eq(Mux(busy, current, window.following)),
            after.eq(window.following + (o.take & ~busy)),
            read.en.eq(o.take),
            read.addr.eq(self._slot(number) * size + index),
            # There is no packet after the newest one, and its length may be written in this cycle.
            read_last.en.eq(after != window.newest),
            read_last.addr.eq(self._slot(after)),
            o.data.eq(read.data),
        ]
        with m.If(o.take):
            m.d.sync += [
                current.eq(number),
                length.eq(here),
                busy.eq(~o.ends),
                index.eq(Mux(o.ends, 0, index + 1)),
                o.descriptor.phase.eq(self.flow.phase),
                o.descriptor.destination.eq(self.flow.peer),
                o.descriptor.source.eq(self.address),
                o.descriptor.sequence.eq(number),
                o.descriptor.length.eq(here),
                o.descriptor.generation.eq(self.flow.generation),
                o.index.eq(index),
                o.last.eq(o.ends),
            ]
        return after
