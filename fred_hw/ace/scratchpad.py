"""Scratchpad: slots that hold chunks while they are processed."""

from itertools import product
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import any_of, one_hot_mux
from fred_hw.protocol import DATA_COUNT
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .reader import load_layout
from .work import place_bits, sizes_name, slot_bits

__all__ = ["AceScratchpad", "SlotRead", "slot_read_signature"]


class SlotRead(wiring.PureInterface):
    """A read of a slot."""

    valid: Signal
    ready: Signal
    circuit: Signal
    slot: Signal
    place: Signal
    data: Signal


def slot_read_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a slot read, as seen by the reader.

    Members
    -------
    valid, ready : Out(1), In(1)
        A read, and whether it is done.
    circuit, slot, place : Out(3), Out(slot_bits(spec)), Out(place_bits(spec))
        Circuit, one bit, slot of its partition, and place in it.
    data : In(data_width)
        The flit, in the cycle after the read.
    """
    members = {
        "valid": Out(1),
        "ready": In(1),
        "circuit": Out(DATA_COUNT),
        "slot": Out(slot_bits(spec)),
        "place": Out(place_bits(spec)),
        "data": In(spec.data_width),
    }
    return wiring.Signature(members)


class AceScratchpad(Unit):
    """Slots in one partition per virtual channel; each slot is a dual-port memory.

    With two ports to memory it is two of them, of even and of odd places, and what is said of words
    of the same slot holds for those of the same memory alone.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    loads, loads_ready, load : In(1), Out(1), In(load_layout(spec))
        A word from memory, and whether it is taken.
    operand_loads, operand_loads_ready, operand_load : In(1), Out(1), In(load_layout(spec))
        If ``endpoint.read_ports`` is 2: the same of the second port; ``load`` of the same slot goes
        before it.
    stores, store : In(1), In(load_layout(spec))
        A word that was received; goes before all loads of the same slot.
    operand, send : In(slot_read_signature(spec))
        Reads; of the same slot ``operand`` goes first.

    Timing
    ------
    Latency : 1 cycle from a read to its data.
    Throughput : a word on each member per cycle, while reads are of different slots.
    Paths : ``operand.valid``, ``operand.circuit`` and ``operand.slot`` to ``send.ready``;
        ``stores``, and circuit and slot of ``store`` and ``load``, to ``loads_ready``; these,
        ``loads``, and circuit and slot of ``operand_load`` to ``operand_loads_ready``.
    Reset : clears nothing.
    """

    loads: Signal
    loads_ready: Signal
    load: data.View
    operand_loads: Signal
    operand_loads_ready: Signal
    operand_load: data.View
    stores: Signal
    store: data.View
    operand: SlotRead
    send: SlotRead

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceScratchpad", spec)
        self.unit_name = sizes_name("ace_scratchpad", spec)
        self.resettable = False
        members = {
            "loads": In(1),
            "loads_ready": Out(1),
            "load": In(load_layout(spec)),
            "stores": In(1),
            "store": In(load_layout(spec)),
            "operand": In(slot_read_signature(spec)),
            "send": In(slot_read_signature(spec)),
        }
        if spec.endpoint.read_ports == 2:
            members |= {
                "operand_loads": In(1),
                "operand_loads_ready": Out(1),
                "operand_load": In(load_layout(spec)),
            }
        super().__init__(members)

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
        banks = product(range(DATA_COUNT), range(spec.endpoint.slots), range(halves))
        count = DATA_COUNT * spec.endpoint.slots * halves
        chosen = {name: Signal(count, name=f"{name}_chosen", reset_less=True) for name in readers}
        for index, bank in enumerate(banks):
            # A memory may be no smaller than two words.
            depth = max(2, -(-spec.endpoint.chunk_flits // halves))
            memory = Memory(shape=spec.data_width, depth=depth, init=[])
            m.submodules["_".join(["slot", *map(str, bank[: 1 + halves])])] = memory
            write, read = memory.write_port(), memory.read_port()
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
