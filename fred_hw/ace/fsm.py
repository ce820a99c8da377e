"""State machine that processes one chunk at a time."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.member import member
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

    Timing
    ------
    Latency : 2 cycles from ``begins`` to ``send`` and ``receive``, 2 from ``receive_done`` to the
        next ``send`` and ``receive``, 3 from the last step done to ``busy`` low.
    Throughput : a message out and in per 2 cycles.
    Paths : none.
    Reset : owns no chunk.
    """

    work: data.View = member(In, lambda u: work_layout(u.spec))
    """Constant while ``busy``."""
    begins = member(In, 1)
    """Take over a loaded chunk."""
    send_taken = member(In, 1)
    """The message is sent from now on; only while ``send`` is high."""
    send_done = member(In, 1)
    """All flits of a message have been read."""
    receive_taken = member(In, 1)
    """The message is received from now on; only while ``receive`` is high."""
    receive_done = member(In, 1)
    """All received flits of a message are in the slot."""
    i = member(In, lambda u: slot_bits(u.spec))
    """Slot of the loaded chunk, with ``begins``."""
    busy = member(Out, 1)
    """A chunk is owned."""
    slot = member(Out, lambda u: slot_bits(u.spec))
    """Slot of the owned chunk."""
    send = member(Out, 1)
    """The next message is in the slot and may be sent."""
    receive = member(Out, 1)
    """The next message may be received."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceFsm", spec)
        self.unit_name = sizes_name("ace_fsm", spec)
        super().__init__()

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
