"""Chunks from memory into slots."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fsm import Fsm
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place

from .walker import AceWalker
from .work import STEP_BITS, count_bits, place_bits, sizes_name, slot_bits, word_bits, work_layout

__all__ = ["AceLoader", "request_layout"]


def request_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return a read: address in flits and where it goes, or the ``mark`` behind a chunk's last."""
    return data.StructLayout(
        {
            "mark": 1,
            "address": word_bits(spec),
            "slot": slot_bits(spec),
            "place": place_bits(spec),
        }
    )


class AceLoader(Unit):
    """Ask for each chunk's flits, chunk after chunk, as there are free slots; slots take turns.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    work : In(work_layout(spec))
        Constant while ``active``.
    begin : In(1)
        Begin; ``work`` is set in the next cycle.
    room : In(1)
        A slot is free.
    taken : Out(1)
        High for a cycle when one is taken.
    o : Out(stream.Signature(request_layout(spec)))
        Reads.
    active : Out(1)
        There are chunks to load.

    Timing
    ------
    Latency : 6 cycles from ``begin``, with room, to ``o.valid``.
    Throughput : a read per cycle, and 4 cycles from one part to the next.
    Paths : none.
    Reset : forgets all, and slot 0 is the next.
    """

    work: data.View
    begin: Signal
    room: Signal
    taken: Signal
    o: stream.Interface
    active: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceLoader", spec)
        self.unit_name = sizes_name("ace_loader", spec)
        super().__init__(
            {
                "work": In(work_layout(spec)),
                "begin": In(1),
                "room": In(1),
                "taken": Out(1),
                "o": Out(stream.Signature(request_layout(spec))),
                "active": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        work, asked = self.work, self.o.payload
        address, where = Signal(len(asked.address)), Signal(len(asked.place))
        walker = place(m, "walker", AceWalker(spec=self.spec))
        fsm = Fsm(m, "idle", "chunk", "part", "reads", "mark")
        base, left = Signal(count_bits(self.spec)), Signal(count_bits(self.spec))
        behind, ended = Signal(len(base) + 1), Signal()
        parts, slot = Signal(STEP_BITS), Signal(slot_bits(self.spec))
        m.d.sync += [behind.eq(base + work.message), ended.eq(behind >= work.block)]
        m.d.comb += [
            walker.work.eq(work),
            walker.base.eq(base),
            self.active.eq(~fsm.ongoing("idle")),
            self.o.valid.eq(fsm.ongoing("reads") | fsm.ongoing("mark")),
            asked.mark.eq(fsm.ongoing("mark")),
            asked.slot.eq(slot),
            asked.address.eq(address),
            asked.place.eq(where),
        ]
        with fsm.state("idle"), m.If(self.begin):
            m.d.sync += base.eq(0)
            fsm.go("chunk")
        with fsm.state("chunk"), m.If(self.room):
            m.d.comb += [walker.begin.eq(1), self.taken.eq(1)]
            m.d.sync += parts.eq(work.parts)
            fsm.go("part")
        with fsm.state("part"), m.If(walker.ready):
            m.d.comb += walker.step.eq(1)
            m.d.sync += [
                parts.eq(parts - 1),
                left.eq(walker.size),
                address.eq(work.source + walker.offset),
                where.eq(walker.place),
            ]
            with m.If(walker.size != 0):
                fsm.go("reads")
            with m.Elif(parts == 1):
                fsm.go("mark")
        with fsm.state("reads"), m.If(self.o.ready):
            m.d.sync += [
                left.eq(left - 1),
                address.eq(address + 1),
                where.eq(where + 1),
            ]
            with m.If(left == 1):
                fsm.go("part")
                with m.If(parts == 0):
                    fsm.go("mark")
        with fsm.state("mark"), m.If(self.o.ready):
            m.d.sync += slot.eq(slot + 1)
            with m.If(slot == self.spec.endpoint.slots - 1):
                m.d.sync += slot.eq(0)
            m.d.sync += base.eq(behind)
            fsm.go("chunk")
            with m.If(ended):
                fsm.go("idle")
        return m
