"""Sent flits: from slots to the virtual channels of the link."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import one_hot_mux, round_robin
from fred_hw.link.packet_stream import PayloadStream
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .scratchpad import SlotRead
from .work import SendWord, sizes_name

__all__ = ["AceOutlet"]

DEPTH = 4
"""Number of flits between slots and a virtual channel."""


class AceOutlet(Unit):
    """Read flits from slots, round-robin over virtual channels; a waiting one blocks no other.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 3 cycles from a word to its flit on ``send``.
    Throughput : a flit per cycle, of all circuits together.
    Paths : ``slots.ready`` to ``words.take``.
    Reset : forgets all flits.
    """

    words: list[SendWord] = member(In, lambda u: SendWord.signature(u.spec), array=per_class)
    """The next flit that each channel has to send."""
    slots: SlotRead = member(Out, lambda u: SlotRead.signature(u.spec))
    """Reads of slots."""
    send: list[PayloadStream] = member(
        Out, lambda u: PayloadStream.signature(u.spec), array=per_class
    )
    """Flits to the link."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceOutlet", spec)
        self.unit_name = sizes_name("ace_outlet", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        wanting, chosen, recent, take, came, space = (
            Signal(per_class(self), name=name)
            for name in ("wanting", "chosen", "recent", "take", "came", "space")
        )
        last = Signal()
        ended = Signal()
        flit = Signal(self.spec.data_width, reset_less=True)
        there = Signal(per_class(self))
        slots = self.slots
        m.d.comb += [
            wanting.eq(Cat(word.valid for word in self.words) & space),
            chosen.eq(round_robin(m, "wanting", wanting, recent)),
            slots.valid.eq(chosen.any()),
            slots.circuit.eq(chosen),
            slots.slot.eq(one_hot_mux(chosen, [word.slot for word in self.words])),
            slots.place.eq(one_hot_mux(chosen, [word.place for word in self.words])),
            take.eq(chosen & slots.ready.replicate(per_class(self))),
            *(word.take.eq(take[k]) for k, word in enumerate(self.words)),
        ]
        m.d.sync += [
            came.eq(take),
            last.eq(one_hot_mux(chosen, [word.last for word in self.words])),
            there.eq(came),
            ended.eq(last),
            flit.eq(slots.data),
        ]
        with m.If(take.any()):
            m.d.sync += recent.eq(take)
        for k, stream in enumerate(self.send):
            queue = place(m, f"queue_{k}", Fifo(shape=self.spec.data_width + 1, depth=2 * DEPTH))
            # Flits that were taken have a place, those of this cycle too.
            m.d.sync += space[k].eq(queue.used < DEPTH)
            m.d.comb += [
                queue.i.valid.eq(there[k]),
                queue.i.payload.eq(Cat(flit, ended)),
                Cat(stream.data, stream.last).eq(queue.o.payload),
                stream.valid.eq(queue.o.valid),
                queue.o.ready.eq(stream.ready),
            ]
