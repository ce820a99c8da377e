"""State machine that processes one chunk at a time."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .work import STEP_BITS, sizes_name, slot_bits, work_layout

__all__ = ["AceFsm"]


class AceFsm(Unit):
    """Take a chunk through its steps: send a part, receive the next, reduce, and so on.

    Step s sends what step s - 1 received. A message without flits is taken and done like others.
    Which part it is, and where, ``AceSequencer`` knows for all machines.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    work : In(work_layout(spec))
        Constant while ``busy``.
    begins, i : In(1), In(slot_bits(spec))
        ``begins``: take over a loaded chunk. ``i``: its slot.
    busy, slot : Out(1), Out(slot_bits(spec))
        A chunk is owned, in this slot.
    send, receive : Out(1)
        ``send``: the next message is in the slot and may be sent. ``receive``: the next message may
        be received.
    send_taken, send_done : In(1)
        ``send_taken``: the message is sent from now on; only while ``send`` is high. ``send_done``:
        all flits of a message have been read.
    receive_taken, receive_done : In(1)
        ``receive_taken``: the message is received from now on; only while ``receive`` is high.
        ``receive_done``: all received flits of a message are in the slot.

    Timing
    ------
    Latency : 2 cycles from ``begins`` to ``send`` and ``receive``, 2 from ``receive_done`` to the
        next ``send`` and ``receive``, 3 from the last step done to ``busy`` low.
    Throughput : a message out and in per 2 cycles.
    Paths : none.
    Reset : owns no chunk.
    """

    work: data.View
    begins: Signal
    i: Signal
    busy: Signal
    slot: Signal
    send: Signal
    receive: Signal
    send_taken: Signal
    send_done: Signal
    receive_taken: Signal
    receive_done: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceFsm", spec)
        self.unit_name = sizes_name("ace_fsm", spec)
        strobes = dict.fromkeys(
            ("begins", "send_taken", "send_done", "receive_taken", "receive_done"), In(1)
        )
        members = {
            "work": In(work_layout(spec)),
            **strobes,
            "i": In(slot_bits(spec)),
            "busy": Out(1),
            "slot": Out(slot_bits(spec)),
            "send": Out(1),
            "receive": Out(1),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        work = self.work
        sent, gone, taken, received = (
            Signal(STEP_BITS, name=name) for name in ("sent", "gone", "taken", "received")
        )
        ended = Signal()
        # Counts are compared a cycle after a message is taken, in which no other one may be.
        m.d.sync += [
            self.send.eq(self.busy & ~self.send_taken & (sent != work.steps) & (sent <= received)),
            self.receive.eq(
                self.busy & ~self.receive_taken & (taken != work.receives) & (taken == received)
            ),
        ]
        with m.If(self.begins):
            m.d.sync += [one.eq(0) for one in (sent, gone, taken, received, ended)]
            m.d.sync += [self.busy.eq(1), self.slot.eq(self.i)]
        with m.Else():
            m.d.sync += [
                sent.eq(sent + self.send_taken),
                gone.eq(gone + self.send_done),
                taken.eq(taken + self.receive_taken),
                received.eq(received + self.receive_done),
            ]
            m.d.sync += ended.eq((gone == work.steps) & (received == work.receives))
            with m.If(ended):
                m.d.sync += self.busy.eq(0)
