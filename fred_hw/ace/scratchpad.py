"""Scratchpad: slots that hold chunks while they are processed."""

from itertools import product
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.gates.memory_ports import read_port, write_port
from fred_hw.gates.select import any_of, one_hot_mux
from fred_hw.member import Bundle, member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .reader import load_layout
from .work import place_bits, sizes_name, slot_bits

__all__ = ["AceScratchpad", "SlotRead"]


class SlotRead(Bundle):
    """A read of a slot, as seen by the reader."""

    valid = member(Out, 1)
    """A read."""
    ready = member(In, 1)
    """Whether the read is done."""
    circuit = member(Out, per_class)
    """Virtual channel, one bit."""
    slot = member(Out, slot_bits)
    """Slot of the channel's partition."""
    place = member(Out, place_bits)
    """Place in the slot."""
    data = member(In, lambda spec: spec.data_width)
    """The flit, in the cycle after the read."""


class AceScratchpad(Unit):
    """Slots in one partition per virtual channel; each slot is a dual-port memory.

    With two ports to memory it is two of them, of even and of odd places, and what is said of words
    of the same slot holds for those of the same memory alone.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from a read to its data.
    Throughput : a word on each member per cycle, while reads are of different slots.
    Paths : ``operand.valid``, ``operand.circuit`` and ``operand.slot`` to ``send.ready``;
        ``stores``, and circuit and slot of ``store`` and ``load``, to ``loads_ready``; these,
        ``loads``, and circuit and slot of ``operand_load`` to ``operand_loads_ready``.
    Reset : clears nothing.
    """

    loads = member(In, 1)
    """A word comes from memory."""
    loads_ready = member(Out, 1)
    """The word is taken."""
    load: data.View = member(In, lambda u: load_layout(u.spec))
    """The word, and its place."""
    stores = member(In, 1)
    """A received word comes; it goes before all loads of the same slot."""
    store: data.View = member(In, lambda u: load_layout(u.spec))
    """The received word, and its place."""
    operand: SlotRead = member(In, lambda u: SlotRead.signature(u.spec))
    """Reads of operands; they go before ``send`` of the same slot."""
    send: SlotRead = member(In, lambda u: SlotRead.signature(u.spec))
    """Reads of words to send."""
    operand_loads = member(In, 1, when=lambda u: u.spec.endpoint.read_ports == 2)
    """If ``endpoint.read_ports`` is 2: a word comes by the second port; ``load`` of the same slot
    goes before it."""
    operand_loads_ready = member(Out, 1, when=lambda u: u.spec.endpoint.read_ports == 2)
    """If ``endpoint.read_ports`` is 2: the word of the second port is taken."""
    operand_load: data.View = member(
        In, lambda u: load_layout(u.spec), when=lambda u: u.spec.endpoint.read_ports == 2
    )
    """If ``endpoint.read_ports`` is 2: the word of the second port, and its place."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceScratchpad", spec)
        self.unit_name = sizes_name("ace_scratchpad", spec)
        self.resettable = False
        super().__init__()

    def build(self, m: Module) -> None:
        spec = self.spec
        same = Signal()
        m.d.comb += [
            self.operand.ready.eq(1),
            same.eq(_alike(spec, self.operand, self.send) & self.operand.valid),
            self.send.ready.eq(~same),
            self.loads_ready.eq(_apart(spec, self.stores, self.store, self.load)),
        ]
        # What writes slots, the first that goes to a slot before the others.
        writers = [(self.stores, self.store), (self.loads, self.load)]
        if spec.endpoint.read_ports == 2:
            late = self.operand_load
            m.d.comb += self.operand_loads_ready.eq(
                ~Cat(there & _alike(spec, one, late) for there, one in writers).any()
            )
            writers.append((self.operand_loads, late))
        words: list[Value] = []
        readers = {"operand": self.operand, "send": self.send}
        halves = spec.endpoint.read_ports
        banks = product(range(per_class(self)), range(spec.endpoint.slots), range(halves))
        count = per_class(self) * spec.endpoint.slots * halves
        chosen = {name: Signal(count, name=f"{name}_chosen", reset_less=True) for name in readers}
        for index, bank in enumerate(banks):
            # A memory may be no smaller than two words.
            depth = max(2, -(-spec.endpoint.chunk_flits // halves))
            memory = Memory(shape=spec.data_width, depth=depth, init=[])
            name = "_".join(["slot", *map(str, bank[: 1 + halves])])
            m.submodules[name] = memory
            write, read = write_port(memory, f"{name}_write"), read_port(memory, f"{name}_read")
            written = [here & one.circuit[bank[0]] & _in(spec, one, bank) for here, one in writers]
            at, word = _row(spec, writers[-1][1]), writers[-1][1].data
            for here, (_, one) in reversed([*zip(written, writers, strict=True)][:-1]):
                at, word = Mux(here, _row(spec, one), at), Mux(here, one.data, word)
            hits = {
                name: one.valid & one.circuit[bank[0]] & _in(spec, one, bank)
                for name, one in readers.items()
            }
            of_operand = Signal(name=f"of_operand_{index}")
            m.d.comb += [
                write.en.eq(any_of(written)),
                write.addr.eq(at),
                write.data.eq(word),
                of_operand.eq(hits["operand"]),
                read.en.eq(hits["operand"] | hits["send"]),
                read.addr.eq(Mux(of_operand, _row(spec, self.operand), _row(spec, self.send))),
            ]
            for name, one in readers.items():
                with m.If(one.valid & one.ready):
                    m.d.sync += chosen[name][index].eq(hits[name])
            words.append(read.data)
        for name, one in readers.items():
            m.d.comb += one.data.eq(one_hot_mux(chosen[name], words))


def _halved(spec: SwitchSpec) -> bool:
    """Return whether a slot is split into two memories, for even and odd positions.

    With a port of its own what is added is there before a message comes, so a part may be sent from
    a slot while the next one comes to it: from two memories both go on, in step but for a cycle.
    """
    return spec.endpoint.read_ports == 2


def _alike(spec: SwitchSpec, a: Any, b: Any) -> Value:
    """Return whether two words are in the same memory."""
    same = (a.circuit == b.circuit) & (a.slot == b.slot)
    return same & (a.place[0] == b.place[0]) if _halved(spec) else same


def _apart(spec: SwitchSpec, there: Value, a: Any, b: Any) -> Value:
    """Return whether a word is absent, or in another memory than a present one."""
    other = ~there | (a.circuit != b.circuit) | (a.slot != b.slot)
    return other | (a.place[0] != b.place[0]) if _halved(spec) else other


def _in(spec: SwitchSpec, one: Any, bank: tuple[int, int, int]) -> Value:
    """Return whether a word of a virtual channel is in one of the channel's memories."""
    there = one.slot == bank[1]
    return there & (one.place[0] == bank[2]) if _halved(spec) else there


def _row(spec: SwitchSpec, one: Any) -> Value:
    """Return the address of a word in its memory."""
    return one.place[1:] if _halved(spec) else one.place
