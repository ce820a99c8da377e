"""The collectives of a circuit, one after the other: state machines, their turns, their slots."""

from functools import reduce
from operator import add

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.fsm import Fsm
from fred_hw.gates.select import one_hot_mux
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place

from .fsm import AceFsm
from .intake import WRITES
from .loader import AceLoader, request_layout
from .turns import AceTurns
from .work import (
    Message,
    ReceiveWord,
    SendWord,
    count_bits,
    flow_layout,
    message_layout,
    receive_word_signature,
    send_word_signature,
    sizes_name,
    slot_bits,
    work_layout,
)

__all__ = ["QUEUE_DEPTH", "AceChannel"]

QUEUE_DEPTH = 4
"""Descriptors that wait for a circuit."""


class AceChannel(Unit):
    """Carry out the descriptors of a circuit, in order.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    i : In(stream.Signature(work_layout(spec)))
        Prepared descriptors.
    requests : Out(stream.Signature(request_layout(spec)))
        Reads of memory.
    loaded : In(1)
        High for a cycle per chunk that has come.
    send, receive : Out(send_word_signature(spec)), Out(receive_word_signature(spec))
        The next flit to go, and what the next one to come is.
    idle : In(1)
        All that was sent is acknowledged, and nothing is on its way to the link.
    send_flow, receive_flow : Out(flow_layout(spec))
        Flows of the circuit; no flow before the first descriptor that sets it.
    came, enough : In(1), Out(1)
        A flit has been kept by the link; all that descriptors want of the flow that is set has.
    busy, done : Out(1)
        A descriptor is carried out or waits; high for a cycle at the end of each.

    Timing
    ------
    Latency : 5 cycles from a descriptor to ``receive.valid`` if it receives alone, 2 from the last
        of its flits stored to ``done``.
    Throughput : a flit out and in per cycle.
    Paths : none.
    Reset : forgets all descriptors, also that under way.
    """

    i: stream.Interface
    requests: stream.Interface
    loaded: Signal
    send: SendWord
    receive: ReceiveWord
    idle: Signal
    send_flow: data.View
    receive_flow: data.View
    came: Signal
    enough: Signal
    busy: Signal
    done: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceChannel", spec)
        self.unit_name = sizes_name("ace_channel", spec)
        none = {"phase": spec.protocol.phases + 1, "peer": 0, "generation": 0}
        flow = flow_layout(spec)
        super().__init__(
            {
                "i": In(stream.Signature(work_layout(spec))),
                "requests": Out(stream.Signature(request_layout(spec))),
                "loaded": In(1),
                "send": Out(send_word_signature(spec)),
                "receive": Out(receive_word_signature(spec)),
                "idle": In(1),
                "send_flow": Out(flow, init=none),
                "receive_flow": Out(flow, init=none),
                "came": In(1),
                "enough": Out(1, init=1),
                "busy": Out(1),
                "done": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        layout = work_layout(self.spec)
        work = data.View(layout, Signal(layout.size, name="work", reset_less=True))
        loader = place(m, "loader", AceLoader(spec=self.spec))
        machines = [
            place(m, f"fsm_{k}", AceFsm(spec=self.spec)) for k in range(self.spec.endpoint.fsms)
        ]
        begin, stored = Signal(), Signal()
        sends, receives = Signal(), Signal()  # a message is under way
        m.d.comb += [loader.work.eq(work), loader.begin.eq(begin & (work.parts != 0))]
        wiring.connect(m, loader.o, wiring.flipped(self.requests))
        send_turns = self._send(m, work, begin, machines, sends)
        receive_turns = self._receive(m, work, begin, machines, receives, stored)
        owned = self._dispatch(m, work, begin, machines, loader)
        still = Signal()
        m.d.sync += still.eq(
            ~loader.active
            & ~send_turns.active
            & ~receive_turns.active
            & ~owned
            & ~sends
            & ~receives
            & stored
        )
        self._begin(m, work, begin, still)
        return m

    def _begin(self, m: Module, work: data.View, begin: Signal, still: Value) -> None:
        """Take a descriptor when the one before is done, and its flow can be set."""
        queue = place(m, "queue", Fifo(shape=work_layout(self.spec), depth=QUEUE_DEPTH))
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        fsm = Fsm(m, "wait", "flow", "begin", "start", "settle", "run")
        given = queue.o.payload
        changes = Signal()
        m.d.sync += changes.eq(
            work.sets_send & (Value.cast(work.send) != Value.cast(self.send_flow))
        )
        m.d.comb += [
            begin.eq(fsm.ongoing("start")),
            self.busy.eq(~fsm.ongoing("wait") | queue.o.valid),
        ]
        with fsm.state("wait"), m.If(queue.o.valid):
            m.d.comb += queue.o.ready.eq(1)
            m.d.sync += Value.cast(work).eq(Value.cast(given))
            fsm.go("flow")
        with fsm.state("flow"):
            fsm.go("begin")
        self._want(m, work, queue.o, fsm, changes)
        with fsm.state("begin"), m.If(~changes | self.idle):
            with m.If(work.sets_send):
                m.d.sync += self.send_flow.eq(work.send)
            with m.If(work.sets_receive):
                m.d.sync += self.receive_flow.eq(work.receive)
            fsm.go("start")
        with fsm.state("start"):
            fsm.go("settle")
        with fsm.state("settle"):
            fsm.go("run")
        with fsm.state("run"), m.If(still):
            m.d.comb += self.done.eq(1)
            fsm.go("wait")

    def _want(
        self, m: Module, work: data.View, following: stream.Interface, fsm: Fsm, changes: Value
    ) -> None:
        """Count what may come: of the descriptor, and of the next one if its flow is the same.

        A source may be ahead by some descriptors, in which this end has other flows in between.
        What it sends for a later one must not be kept before what those have to receive.
        """
        given = following.payload
        # A packet may have more flits than are wanted; then the next descriptor wants the others.
        wanted = Signal(signed(len(work.expected) + 2))
        counted, same, adds = Signal(), Signal(), Signal()
        more = Signal(len(work.expected))
        m.d.sync += [
            same.eq(
                following.valid
                & (
                    ~given.sets_receive
                    | (Value.cast(given.receive) == Value.cast(self.receive_flow))
                )
            ),
            wanted.eq(wanted + Mux(adds, more, 0) - self.came),
            self.enough.eq((wanted <= 0) | ((wanted == 1) & self.came)),
        ]
        m.d.comb += more.eq(work.expected)
        with fsm.state("begin"), m.If(~changes | self.idle):
            m.d.comb += adds.eq(~counted)
            m.d.sync += counted.eq(0)
        with fsm.state("run"), m.If(same & ~counted):
            m.d.comb += [more.eq(given.expected), adds.eq(1)]
            m.d.sync += counted.eq(1)

    def _dispatch(
        self, m: Module, work: data.View, begin: Value, machines: list[AceFsm], loader: AceLoader
    ) -> Value:
        """Give loaded chunks to state machines by turns; return whether there are any chunks."""
        slots, fsms = self.spec.endpoint.slots, len(machines)
        loaded, used = (Signal(range(slots + 1), name=name) for name in ("waiting", "used"))
        slot = Signal(slot_bits(self.spec), name="next_slot")
        base = Signal(count_bits(self.spec), name="next_base")
        turn, busy, before = Signal(fsms, init=1), Signal(fsms), Signal(fsms)
        gives = Signal()
        m.d.comb += [
            busy.eq(Cat(one.busy for one in machines)),
            gives.eq((loaded != 0) & ~(turn & busy).any()),
            loader.room.eq(used != slots),
        ]
        for k, one in enumerate(machines):
            m.d.comb += [
                one.work.eq(work),
                one.begin.eq(gives & turn[k]),
                one.base.eq(base),
                one.slot.eq(slot),
            ]
        freed = before & ~busy
        m.d.sync += [
            before.eq(busy),
            loaded.eq(loaded + self.loaded - gives),
            used.eq(used + loader.taken - reduce(add, freed)),
        ]
        with m.If(begin):
            m.d.sync += [base.eq(0), turn.eq(1)]
        with m.Elif(gives):
            m.d.sync += [
                base.eq(base + work.message),
                turn.eq(Mux(turn == work.last_fsm, 1, turn << 1)),
                slot.eq(slot + 1),
            ]
            with m.If(slot == slots - 1):
                m.d.sync += slot.eq(0)
        return used != 0

    def _next(
        self,
        m: Module,
        name: str,
        turns: AceTurns,
        offers: list[Message],
        free: Value,
        ends: Value,
    ) -> tuple[Signal, data.View]:
        """Return whose message begins, if any, and the message."""
        layout = message_layout(self.spec)
        message = data.View(layout, Signal(layout.size, name=f"{name}_message"))
        ready = Signal(len(offers), name=f"{name}_ready")
        begins = Signal(len(offers), name=f"{name}_begins")
        may = Signal(name=f"{name}_may")
        m.d.comb += [
            Value.cast(message).eq(
                one_hot_mux(turns.turn, [Value.cast(one.payload) for one in offers])
            ),
            ready.eq(turns.turn & Cat(one.ready for one in offers)),
            may.eq(free | (ends & (message.size != 0))),
            begins.eq(ready & may.replicate(len(ready))),
            turns.advance.eq(begins.any()),
        ]
        return begins, message

    def _send(
        self, m: Module, work: data.View, begin: Value, machines: list[AceFsm], busy: Signal
    ) -> AceTurns:
        """Send messages flit by flit, in packets."""
        turns = place(m, "send_turns", AceTurns(spec=self.spec))
        left, fsm = Signal(count_bits(self.spec), name="send_left"), Signal(len(machines))
        slot, where = Signal.like(self.send.slot), Signal.like(self.send.place)
        packet = self.spec.protocol.packet_flits
        index, final = Signal(range(packet)), Signal(name="send_final")
        ends = self.send.take & final
        begins, message = self._next(m, "send", turns, [one.send for one in machines], ~busy, ends)
        m.d.comb += [
            turns.work.eq(work),
            turns.begin.eq(begin & (work.steps != 0)),
            self.send.valid.eq(busy),
            self.send.slot.eq(slot),
            self.send.place.eq(where),
            self.send.last.eq(final | (index == packet - 1)),
        ]
        for k, one in enumerate(machines):
            empty = begins[k] & (message.size == 0)
            m.d.comb += [
                one.send_taken.eq(begins[k]),
                one.send_done.eq((ends & fsm[k]) | empty),
            ]
        with m.If(self.send.take):
            m.d.sync += [
                left.eq(left - 1),
                final.eq(left == 2),
                where.eq(where + 1),
                index.eq(Mux(self.send.last, 0, index + 1)),
            ]
            with m.If(final):
                m.d.sync += busy.eq(0)
        with m.If(begins.any()):
            m.d.sync += [
                busy.eq(message.size != 0),
                final.eq(message.size == 1),
                left.eq(message.size),
                slot.eq(message.slot),
                where.eq(message.place),
                fsm.eq(begins),
                index.eq(0),
            ]
        return turns

    def _receive(
        self,
        m: Module,
        work: data.View,
        begin: Value,
        machines: list[AceFsm],
        busy: Signal,
        stored: Signal,
    ) -> AceTurns:
        """Say of each flit what it is; ``stored`` is high while none is on its way to memory."""
        turns = place(m, "receive_turns", AceTurns(spec=self.spec))
        left, final = Signal(count_bits(self.spec), name="receive_left"), Signal()
        word = self.receive.payload
        layout = word.shape()
        now = data.View(layout, Signal(layout.size, name="expected"))
        ends = self.receive.take & final
        begins, message = self._next(
            m, "receive", turns, [one.receive for one in machines], ~busy, ends
        )
        m.d.comb += [
            turns.work.eq(work),
            turns.begin.eq(begin & (work.receives != 0)),
            self.receive.valid.eq(busy),
            word.eq(now),
            word.last.eq(final),
        ]
        for k, one in enumerate(machines):
            empty = begins[k] & (message.size == 0)
            m.d.comb += [
                one.receive_taken.eq(begins[k]),
                one.receive_done.eq(self.receive.done[k] | empty),
            ]
        with m.If(self.receive.take):
            m.d.sync += [left.eq(left - 1), final.eq(left == 2)]
            with m.If(final):
                m.d.sync += busy.eq(0)
        direct = begin & (work.direct != 0)
        with m.If(direct | begins.any()):
            size = Mux(direct, work.direct, message.size)
            m.d.sync += [busy.eq(size != 0), final.eq(size == 1), left.eq(size)]
        self._expect(m, work, now, message, begins, direct)
        # Flits to memory, from the one that is taken to the one that memory has.
        under_way = Signal(range(WRITES + 1))
        m.d.sync += under_way.eq(under_way + (self.receive.take & word.store) - self.receive.stored)
        m.d.comb += stored.eq(under_way == 0)
        return turns

    def _expect(
        self,
        m: Module,
        work: data.View,
        now: data.View,
        message: data.View,
        begins: Value,
        direct: Value,
    ) -> None:
        """Keep what the next flit is: of a message, or of a buffer that no chunk has part in."""
        with m.If(self.receive.take):
            m.d.sync += [now.place.eq(now.place + 1), now.address.eq(now.address + 1)]
        with m.If(direct):
            m.d.sync += [
                Value.cast(now).eq(0),
                now.store.eq(1),
                now.address.eq(work.destination),
            ]
        with m.Elif(begins.any()):
            m.d.sync += [
                now.slot.eq(message.slot),
                now.place.eq(message.place),
                now.address.eq(work.destination + message.offset),
                *(now[name].eq(message[name]) for name in ("reduce", "keep", "store")),
                now.fsm.eq(begins),
            ]
