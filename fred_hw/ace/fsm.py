"""A state machine that owns a chunk."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place

from .walker import AceWalker
from .work import (
    STEP_BITS,
    Message,
    count_bits,
    message_signature,
    sizes_name,
    slot_bits,
    work_layout,
)

__all__ = ["AceFsm"]


class AceFsm(Unit):
    """Take a chunk through its steps: send a part, receive the next one, reduce, and so on.

    Step s sends what step s - 1 received. A message without flits is taken and done like others.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    work : In(work_layout(spec))
        Constant while ``busy``.
    begin, base, slot : In(1), In(count), In(slot)
        Own a chunk, which is loaded: its first flit in each block, and its slot.
    busy : Out(1)
        A chunk is owned.
    send, receive : Out(message_signature(spec))
        The next message to go, which is in the slot, and to come.
    send_taken, send_done : In(1)
        ``send`` is under way; all flits of a message have been read.
    receive_taken, receive_done : In(1)
        ``receive`` is under way; all that came of it is in the slot.

    Timing
    ------
    Latency : 5 cycles from ``begin`` to ``send.ready`` and ``receive.ready``, 3 from the last step
        done to ``busy`` low.
    Throughput : a message out and in per 4 cycles.
    Paths : none.
    Reset : owns no chunk.
    """

    work: data.View
    begin: Signal
    base: Signal
    slot: Signal
    busy: Signal
    send: Message
    receive: Message
    send_taken: Signal
    send_done: Signal
    receive_taken: Signal
    receive_done: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceFsm", spec)
        self.unit_name = sizes_name("ace_fsm", spec)
        strobes = dict.fromkeys(
            ("begin", "send_taken", "send_done", "receive_taken", "receive_done"), In(1)
        )
        super().__init__(
            {
                "work": In(work_layout(spec)),
                **strobes,
                "base": In(count_bits(spec)),
                "slot": In(slot_bits(spec)),
                "busy": Out(1),
                "send": Out(message_signature(spec)),
                "receive": Out(message_signature(spec)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        work = self.work
        slot = Signal.like(self.slot, name="own_slot")
        sent, gone, taken, received = (
            Signal(STEP_BITS, name=name) for name in ("sent", "gone", "taken", "received")
        )
        # What comes is one part further than what goes; its walker begins with a step.
        skip = Signal()
        send = self._walk(m, "send", self.send_taken, slot)
        receive = self._walk(m, "receive", self.receive_taken | skip, slot)
        came, last, ended = Signal(), Signal(), Signal()
        m.d.comb += [
            self.receive.payload.reduce.eq(taken < work.reduces),
            self.receive.payload.store.eq(taken >= work.stores),
            self.receive.payload.keep.eq(~last),
            skip.eq(receive.ready & ~came),
        ]
        # Counts are compared a cycle after they change, in which nothing is ready.
        changes = Signal()
        m.d.comb += changes.eq(
            self.begin | self.send_taken | self.receive_taken | self.receive_done
        )
        m.d.sync += [
            last.eq(taken + 1 == work.steps),
            self.send.ready.eq(
                self.busy & ~changes & send.ready & (sent != work.steps) & (sent <= received)
            ),
            self.receive.ready.eq(
                self.busy
                & ~changes
                & came
                & receive.ready
                & (taken != work.receives)
                & (taken == received)
            ),
        ]
        with m.If(self.begin):
            m.d.sync += [one.eq(0) for one in (sent, gone, taken, received, came, ended)]
            m.d.sync += [self.busy.eq(1), slot.eq(self.slot)]
        with m.Else():
            with m.If(skip):
                m.d.sync += came.eq(1)
            m.d.sync += [
                sent.eq(sent + self.send_taken),
                gone.eq(gone + self.send_done),
                taken.eq(taken + self.receive_taken),
                received.eq(received + self.receive_done),
            ]
            m.d.sync += ended.eq((gone == work.steps) & (received == work.receives))
            with m.If(ended):
                m.d.sync += self.busy.eq(0)
        return m

    def _walk(self, m: Module, name: str, step: Value, slot: Value) -> AceWalker:
        """Place what walks through the parts of the chunk on one side, and say where it is."""
        walker = place(m, f"{name}_walker", AceWalker(spec=self.spec))
        message = getattr(self, name).payload
        m.d.comb += [
            walker.work.eq(self.work),
            walker.begin.eq(self.begin),
            walker.base.eq(self.base),
            walker.step.eq(step),
            message.slot.eq(slot),
            message.place.eq(walker.place),
            message.offset.eq(walker.offset),
            message.size.eq(walker.size),
        ]
        return walker
