"""Loading of chunks from memory into slots, part by part."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_choice
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .sequencer import AceSequencer
from .work import place_bits, size_bits, sizes_name, slot_bits, word_bits, work_layout

__all__ = ["AceLoader", "request_layout"]


def request_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a read request: address in flits, and destination.

    A part ends with what has a ``mark``: its last read, or nothing, if ``reads`` is not set;
    ``first`` says whether it is the first one of its chunk.
    """
    fields = {
        "reads": 1,
        "mark": 1,
        "first": 1,
        "address": word_bits(spec),
        "slot": slot_bits(spec),
        "place": place_bits(spec),
    }
    return data.StructLayout(fields)


PARTS = {"all": "ace_loader", "first": "ace_first_loader", "rest": "ace_rest_loader"}
"""Parts that a loader requests, with the names used for them."""


class AceLoader(Unit):
    """Request chunks while slots are free, in the order in which state machines need the parts.

    So a part of each chunk comes, then the next one of each, and machines begin with the first.
    Slots are used round-robin.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    parts : str
        ``all``, or, of two loaders that go through the same chunks, each on its port to memory,
        what it asks for: ``first``, the part of each that is sent as it is, or ``rest``, all
        others, which are added to what is received.

    Timing
    ------
    Latency : 6 cycles from ``begins``, with space, to ``o.valid``; 7 of ``rest``.
    Throughput : a read per cycle, if parts have 4 flits or more; a part per 4 cycles, of ``rest``
        5 for the second part of the first of chunks that go together.
    Paths : none.
    Reset : forgets all, and slot 0 is the next. It is with each ``begins``, but for ``all``.
    """

    work: data.View = member(In, lambda u: work_layout(u.spec))
    """Constant from ``begins`` on while ``active``."""
    begins = member(In, 1)
    """Begin."""
    space = member(In, 1)
    """A slot is free; of ``rest`` that the other loader has begun with a chunk more."""
    taken = member(Out, 1)
    """High for a cycle when one is taken, of ``rest`` when it begins with a chunk."""
    o: stream.Interface = member(Out, lambda u: stream.Signature(request_layout(u.spec)))
    """Reads."""
    active = member(Out, 1)
    """There are chunks to load."""

    def __init__(self, *, spec: SwitchSpec, parts: str = "all") -> None:
        self.spec = check_spec("AceLoader", spec)
        self.parts = check_choice("AceLoader parts", parts, PARTS)
        self.unit_name = sizes_name(PARTS[parts], spec)
        super().__init__()

    def build(self, m: Module) -> None:
        work, asked, spec = self.work, self.o.payload, self.spec
        sequencer = place(m, "sequencer", AceSequencer(spec=spec))
        layout = self._part_layout()
        # The part that is read, and the one behind it, which is found meanwhile.
        now, following = (
            data.View(layout, Signal(layout.size, name=name, reset_less=True))
            for name in ("now", "following")
        )
        names = ("known", "takes", "reads", "final", "ends")
        known, takes, reads, final, ends = (Signal(name=name) for name in names)
        slot = self._slot(m, sequencer, takes)
        if self.parts == "rest":
            m.d.comb += sequencer.ahead.eq(1)
        m.d.comb += [
            sequencer.work.eq(work),
            sequencer.steps.eq({"all": work.parts, "first": 1, "rest": work.parts - 1}[self.parts]),
            sequencer.last_fsm.eq(work.last_fsm),
            sequencer.begins.eq(self.begins),
            takes.eq(sequencer.machine.any() & ~known & (~sequencer.first | self.space)),
            sequencer.advance.eq(takes),
            self.taken.eq(takes & sequencer.first),
            self.active.eq(sequencer.active | known | self.o.valid),
            ends.eq(self.o.ready & final),
            asked.reads.eq(reads),
            asked.mark.eq(final),
            *(asked[name].eq(now[name]) for name in ("first", "slot", "address", "place")),
        ]
        with m.If(takes):
            m.d.sync += [
                following.flits.eq(sequencer.size),
                following.address.eq(work.source + sequencer.offset),
                following.place.eq(sequencer.place),
                following.first.eq(sequencer.first if self.parts != "rest" else 0),
                following.slot.eq(slot),
                known.eq(1),
            ]
        with m.If(self.o.ready):
            m.d.sync += [
                now.flits.eq(now.flits - 1),
                now.address.eq(now.address + 1),
                now.place.eq(now.place + 1),
                final.eq(now.flits == 2),
            ]
        with m.If(~self.o.valid | ends):
            m.d.sync += [
                now.eq(following),
                self.o.valid.eq(known),
                reads.eq(following.flits != 0),
                final.eq(following.flits <= 1),
                known.eq(takes),
            ]

    def _slot(self, m: Module, sequencer: AceSequencer, takes: Value) -> Signal:
        """Return the slot of the next part; parts of the same round have one slot each."""
        slot, base, behind = (
            Signal(slot_bits(self.spec), name=name) for name in ("slot", "base_slot", "next_slot")
        )
        begins = sequencer.machine[0]
        m.d.comb += slot.eq(Mux(begins & ~sequencer.first, base, behind))
        with m.If(takes):
            m.d.sync += behind.eq(slot + 1)
            with m.If(slot == self.spec.endpoint.slots - 1):
                m.d.sync += behind.eq(0)
            with m.If(begins):
                m.d.sync += base.eq(slot)
        if self.parts != "all":  # two loaders agree, though one may have nothing to ask for
            with m.If(self.begins):
                m.d.sync += behind.eq(0)
        return slot

    def _part_layout(self) -> data.StructLayout:
        """Return the layout of a part's properties."""
        spec = self.spec
        fields = {
            "flits": size_bits(spec),
            "address": word_bits(spec),
            "place": place_bits(spec),
            "first": 1,
            "slot": slot_bits(spec),
        }
        return data.StructLayout(fields)
