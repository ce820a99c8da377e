"""Received flits: reduced with a slot, stored in a slot, or written to memory."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.datapath.reducer import Reducer
from fred_hw.gates.fifo import Fifo
from fred_hw.gates.select import one_hot_mux, round_robin
from fred_hw.link.packet_stream import PayloadStream
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .memory_port import write_layout
from .reader import load_layout
from .scratchpad import SlotRead
from .work import ReceiveWord, receive_layout, sizes_name

__all__ = ["AceIntake"]

WRITES = 16
"""Number of words that can wait for memory."""


class AceIntake(Unit):
    """Receive flits of all virtual channels, reduce them, and write them to slots or memory.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; operation and format of the lanes.

    Timing
    ------
    Latency : 3 cycles and those of ``Reducer`` from a flit to ``store``, and one more to ``write``.
    Throughput : a flit per cycle, of all circuits together, while memory takes what is written.
    Paths : ``receive.valid`` and ``words`` to ``receive.ready`` and ``operand``.
    Reset : forgets all flits.
    """

    words: list[ReceiveWord] = member(In, lambda u: ReceiveWord.signature(u.spec), array=per_class)
    """The next flit that each channel expects."""
    receive: list[PayloadStream] = member(
        In, lambda u: PayloadStream.signature(u.spec), array=per_class
    )
    """Flits from the link."""
    operand: SlotRead = member(Out, lambda u: SlotRead.signature(u.spec))
    """Read of the operand with which a flit is reduced."""
    stores = member(Out, 1)
    """A flit goes back to its slot."""
    store: data.View = member(Out, lambda u: load_layout(u.spec))
    """The flit, and its slot."""
    write: stream.Interface = member(Out, lambda u: stream.Signature(write_layout(u.spec)))
    """Flits to memory."""
    reduced = member(Out, 1)
    """High for a cycle per flit that is reduced."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceIntake", spec)
        self.unit_name = sizes_name("ace_intake", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        take, chosen = self._choose(m)
        layout = receive_layout(self.spec)
        meant = data.View(layout, Signal(layout.size, name="meant"))
        m.d.comb += [
            Value.cast(meant).eq(one_hot_mux(chosen, [Value.cast(w.payload) for w in self.words])),
            self.operand.valid.eq(take.any() & meant.reduce),
            self.operand.circuit.eq(chosen),
            self.operand.slot.eq(meant.slot),
            self.operand.place.eq(meant.place),
            self.reduced.eq(self.operand.valid),
        ]
        # What a flit is goes beside it: to the read operand, to the reducer, through it, behind it.
        flit = one_hot_mux(chosen, [one.data for one in self.receive])
        now, there, what = flit, take.any(), Value.cast(meant)
        circuit: Value = chosen
        for stage in range(2):
            now, there, what, circuit = self._delay(m, f"q{stage}", now, there, what, circuit)
        operand = Signal(self.spec.data_width, reset_less=True)
        m.d.sync += operand.eq(self.operand.data)
        reducer = place(m, "reducer", Reducer(spec=self.spec))
        apart = ~data.View(layout, what).reduce
        m.d.comb += [
            reducer.i0.eq(now),
            reducer.i1.eq(operand),
            reducer.apart.eq(apart.replicate(2)),
        ]
        for stage in range(self.spec.adder_registers):
            _, there, what, circuit = self._delay(m, f"r{stage}", None, there, what, circuit)
        now, there, what, circuit = self._delay(m, "o", reducer.o, there, what, circuit)
        self._deliver(m, now, there, data.View(layout, what), circuit)

    def _delay(
        self, m: Module, name: str, now: Value | None, there: Value, what: Value, circuit: Value
    ) -> tuple[Value, Value, Value, Value]:
        """Register a flit, if there is one, together with its properties."""
        valid = Signal(name=f"valid_{name}")
        about = Signal(len(what), name=f"what_{name}", reset_less=True)
        of = Signal(per_class(self), name=f"circuit_{name}", reset_less=True)
        m.d.sync += [valid.eq(there), about.eq(what), of.eq(circuit)]
        if now is None:
            return Signal(), valid, about, of
        flit = Signal(self.spec.data_width, name=f"flit_{name}", reset_less=True)
        m.d.sync += flit.eq(now)
        return flit, valid, about, of

    def _choose(self, m: Module) -> tuple[Signal, Signal]:
        """Return the virtual channel whose flit is accepted, and the one that is examined."""
        wanting, chosen, recent, take = (
            Signal(per_class(self), name=name) for name in ("wanting", "chosen", "recent", "take")
        )
        reserved = Signal(range(WRITES + 1))
        space = Signal(init=1)
        m.d.comb += [
            wanting.eq(
                Cat(
                    word.valid & one.valid & (space | ~word.payload.store)
                    for word, one in zip(self.words, self.receive, strict=True)
                )
            ),
            chosen.eq(round_robin(m, "wanting", wanting, recent)),
            take.eq(chosen),
            *(one.ready.eq(take[k]) for k, one in enumerate(self.receive)),
            *(word.take.eq(take[k]) for k, word in enumerate(self.words)),
        ]
        with m.If(take.any()):
            m.d.sync += recent.eq(take)
        stores = Signal(per_class(self), name="takes_stored")
        m.d.comb += stores.eq(take & Cat(word.payload.store for word in self.words))
        gone = self.write.valid & self.write.ready
        with m.If(stores.any() & ~gone):
            m.d.sync += reserved.eq(reserved + 1)
        with m.Elif(gone & ~stores.any()):
            m.d.sync += reserved.eq(reserved - 1)
        m.d.sync += space.eq((reserved < WRITES - 1) | ((reserved == WRITES - 1) & ~stores.any()))
        return take, chosen

    def _deliver(
        self, m: Module, flit: Value, there: Value, what: data.View, circuit: Value
    ) -> None:
        """Write a flit to its slot or to the memory queue, and signal the end of a message."""
        layout = data.StructLayout({"circuit": per_class(self), "write": write_layout(self.spec)})
        queue = place(m, "queue", Fifo(shape=layout, depth=WRITES))
        head = queue.o.payload
        m.d.comb += [
            self.stores.eq(there & what.keep),
            self.store.circuit.eq(circuit),
            self.store.slot.eq(what.slot),
            self.store.place.eq(what.place),
            self.store.data.eq(flit),
            queue.i.valid.eq(there & what.store),
            queue.i.payload.circuit.eq(circuit),
            queue.i.payload.write.address.eq(what.address),
            queue.i.payload.write.data.eq(flit),
            self.write.valid.eq(queue.o.valid),
            self.write.payload.eq(head.write),
            queue.o.ready.eq(self.write.ready),
        ]
        gone = queue.o.valid & self.write.ready
        for k, word in enumerate(self.words):
            ended = there & what.last & circuit[k]
            m.d.comb += [
                word.done.eq(what.fsm & ended.replicate(len(word.done))),
                word.stored.eq(gone & head.circuit[k]),
            ]
