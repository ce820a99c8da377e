"""Memory reads of all virtual channels over one port."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.data import StructLayout, View
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import one_hot_mux, round_robin
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .loader import request_layout
from .work import place_bits, sizes_name, slot_bits, word_bits

__all__ = ["AceReader", "load_layout"]


def load_layout(spec: SwitchSpec) -> StructLayout:
    """Return the layout of a flit for a slot in the partition of a virtual channel."""
    fields = {
        "circuit": per_class(spec),
        "slot": slot_bits(spec),
        "place": place_bits(spec),
        "data": spec.data_width,
    }
    return StructLayout(fields)


class AceReader(Unit):
    """Arbitrate memory reads of virtual channels, and route the returned flits.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from a request to ``read.valid``, and from a word to ``o``.
    Throughput : a word per cycle, and a cycle per mark alone.
    Paths : ``ready`` to ``data.ready``, ``begun`` and ``loaded``.
    Reset : forgets reads under way; memory must forget them too.
    """

    i: list[stream.Interface] = member(
        In, lambda u: stream.Signature(request_layout(u.spec)), array=per_class
    )
    """Reads of each circuit, a mark at the last of each part or in its place."""
    read: stream.Interface = member(Out, lambda u: stream.Signature(word_bits(u.spec)))
    """Addresses of words to read, see ``MemoryPort``."""
    data: stream.Interface = member(In, lambda u: stream.Signature(u.spec.data_width))
    """Words from memory."""
    valid = member(Out, 1)
    """A word from memory is offered; it stays until it is taken."""
    ready = member(In, 1)
    """The word is taken."""
    o: View = member(Out, lambda u: load_layout(u.spec))
    """The word, and its place."""
    begun = member(Out, per_class)
    """High for a cycle when the first part of a chunk of the channel is taken."""
    loaded = member(Out, per_class)
    """High for a cycle when another part of a chunk of the channel is taken."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceReader", spec)
        self.unit_name = sizes_name("ace_reader", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        spec = self.spec
        tag = StructLayout(
            {
                "reads": 1,
                "mark": 1,
                "first": 1,
                "circuit": per_class(self),
                "slot": slot_bits(spec),
                "place": place_bits(spec),
            }
        )
        depth = max(2, spec.endpoint.memory_reads)
        tags = place(m, "tags", Fifo(shape=tag, depth=depth))
        chosen = Signal(per_class(self))
        recent = Signal(per_class(self))
        wanting = Cat(one.valid for one in self.i)
        asked = View(request_layout(spec), Signal(request_layout(spec).size, name="asked"))
        take = Signal()
        m.d.comb += [
            chosen.eq(round_robin(m, "wanting", wanting, recent)),
            Value.cast(asked).eq(one_hot_mux(chosen, [Value.cast(one.payload) for one in self.i])),
            take.eq(chosen.any() & tags.i.ready & (~self.read.valid | self.read.ready)),
            *(one.ready.eq(take & chosen[k]) for k, one in enumerate(self.i)),
            tags.i.valid.eq(take),
            tags.i.payload.reads.eq(asked.reads),
            tags.i.payload.mark.eq(asked.mark),
            tags.i.payload.first.eq(asked.first),
            tags.i.payload.circuit.eq(chosen),
            tags.i.payload.slot.eq(asked.slot),
            tags.i.payload.place.eq(asked.place),
        ]
        with m.If(take):
            m.d.sync += recent.eq(chosen)
        with m.If(~self.read.valid | self.read.ready):
            m.d.sync += [
                self.read.valid.eq(take & asked.reads),
                self.read.payload.eq(asked.address),
            ]
        self._give(m, tags.o)

    def _give(self, m: Module, tags: stream.Interface) -> None:
        """Hold a word, or only a mark, until it is accepted."""
        head = tags.payload
        moves = Signal()
        ends = Signal()
        first = Signal()
        m.d.comb += [
            moves.eq(~self.valid | self.ready),
            self.data.ready.eq(tags.valid & head.reads & moves),
            tags.ready.eq((self.data.valid | ~head.reads) & moves),
        ]
        with m.If(moves):
            m.d.sync += [
                self.valid.eq(self.data.valid & self.data.ready),
                ends.eq(tags.valid & tags.ready & head.mark),
                first.eq(head.first),
                self.o.circuit.eq(head.circuit),
                self.o.slot.eq(head.slot),
                self.o.place.eq(head.place),
                self.o.data.eq(self.data.payload),
            ]
        complete = self.o.circuit & (ends & moves).replicate(per_class(self))
        m.d.comb += [
            self.begun.eq(complete & first.replicate(per_class(self))),
            self.loaded.eq(complete & (~first).replicate(per_class(self))),
        ]
