"""Checking and preparing descriptors before they are queued."""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import number_bits
from fred_hw.endpoint_spec import MOST_MEMBERS
from fred_hw.gates.fsm import Fsm
from fred_hw.gates.memory_ports import read_port
from fred_hw.gates.select import selected
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.protocol import FULL_GENERATION_BITS
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit
from fred_hw.virtual_channels import CLASS_BITS

from .exchange_reduce import convert_exchange_reduce
from .operations import OPERATIONS
from .work import (
    ADDRESS_BITS,
    STEP_BITS,
    count_bits,
    flit_bytes,
    sizes_name,
    word_bits,
    work_layout,
)

__all__ = ["REASONS", "AcePrepare", "descriptor_layout"]

REASONS = ("operation", "alignment", "flow", "size", "full")
"""Reasons for refusing a descriptor, the first match first; see ``CAUSES`` in ``endpoint_map``."""


def descriptor_layout() -> data.StructLayout:
    """Return the layout of a descriptor as held by the registers."""
    flow = data.StructLayout(
        {"number": 7, "kind": 1, "keep": 1, "generation": FULL_GENERATION_BITS}
    )
    words = dict.fromkeys(("bytes", "receive_bytes", "block_bytes", "message_bytes"), 32)
    fields = {
        "source": 64,
        "destination": 64,
        **words,
        "members": 8,
        "rank": 8,
        "fsms": 8,
        "send": flow,
        "receive": flow,
    }
    return data.StructLayout(fields)


class _Asked(NamedTuple):
    """The descriptor in preparation: operation, virtual channel and the remaining fields.

    A cycle after the operation is known whether it is one of a ring.
    """

    operation: Signal
    circuit: Signal
    rest: data.View
    is_ring: Signal


def _any_below(bits: int, *words: Value) -> Value:
    """Return whether any of the lowest bits of any word is set."""
    return Cat(one[:bits] for one in words).any() if bits else Const(0)


class AcePrepare(Unit):
    """Refuse invalid descriptors, and compute what their steps need, using additions only.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 4 cycles from ``operation`` to ``valid`` or ``refused``, of a ring 3 more than it has
        members more.
    Throughput : one at a time.
    Paths : ``ready`` to ``valid`` and ``refused``.
    Reset : forgets it, and generations.
    """

    operation = member(In, 3)
    """An operation other than 0 begins the preparation of a descriptor, unless ``busy`` is high."""
    circuit = member(In, CLASS_BITS)
    """Virtual channel of the descriptor."""
    descriptor: data.View = member(In, descriptor_layout())
    """The other fields of the descriptor, in the same cycle as the operation."""
    forget = member(In, lambda u: u.spec.protocol.phases)
    """Phases that may have another generation from now on; none of them is in ``phases``."""
    busy = member(Out, 1)
    """A descriptor is being prepared."""
    phases = member(Out, lambda u: u.spec.protocol.phases)
    """Phases that the descriptor in preparation names."""
    valid = member(Out, per_class)
    """One bit for a cycle when a descriptor is prepared."""
    ready = member(In, per_class)
    """Virtual channels whose queue of descriptors has space."""
    o: data.View = member(Out, lambda u: work_layout(u.spec))
    """The prepared descriptor."""
    discards = member(In, 1)
    """The descriptor of ``valid`` is not queued after all, so its generations are not kept."""
    refused = member(Out, len(REASONS))
    """A bit of ``REASONS`` for a cycle when a descriptor is refused."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AcePrepare", spec)
        flit_bytes(spec)
        self.unit_name = sizes_name("ace_prepare", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        layout = descriptor_layout()
        asked = _Asked(
            operation=Signal(3, name="kind"),
            circuit=Signal(CLASS_BITS, name="for_circuit"),
            rest=data.View(layout, Signal(layout.size, name="asked", reset_less=True)),
            is_ring=Signal(name="is_ring"),
        )
        bad = Signal(len(REASONS) - 1)
        fsm = Fsm(m, "idle", "look", "judge", "blocks", "sum", "clip", "count", "less", "give")
        m.d.comb += self.busy.eq(~fsm.ongoing("idle"))
        rings = asked.operation >= OPERATIONS.index("all_reduce")
        if self.spec.endpoint.schedule_entries:
            rings &= asked.operation != len(OPERATIONS)
        m.d.sync += asked.is_ring.eq(rings)
        self._look(m, fsm, asked, bad, self._other_generation(m, asked))
        wrong, own = self._blocks(m, fsm, asked)
        self._count(m, fsm, asked.operation, own)
        full = Signal()
        m.d.comb += full.eq(~(self.ready & self._bit(asked.circuit)).any())
        with fsm.state("idle"), m.If(self.operation != 0):
            m.d.sync += [
                Value.cast(asked.rest).eq(Value.cast(self.descriptor)),
                asked.operation.eq(self.operation),
                asked.circuit.eq(self.circuit),
            ]
            fsm.go("look")
        with fsm.state("look"):
            fsm.go("judge")
        with fsm.state("judge"):
            fsm.go("sum")
            with m.If(asked.is_ring):
                fsm.go("blocks")
        with fsm.state("sum"):
            fsm.go("give")
            with m.If(asked.is_ring):
                fsm.go("clip")
                with m.If(wrong):
                    m.d.sync += bad[REASONS.index("size")].eq(1)
        if self.spec.endpoint.schedule_entries:
            applies = fsm.ongoing("sum") & (asked.operation == len(OPERATIONS))
            with m.If(convert_exchange_reduce(m, self.spec, self.o, applies)):
                m.d.sync += bad[REASONS.index("size")].eq(1)
        with fsm.state("give"):
            first = bad & -bad
            m.d.comb += self.refused.eq(Cat(first[: len(bad)], full & ~bad.any()))
            with m.If(~bad.any() & ~full):
                m.d.comb += self.valid.eq(self._bit(asked.circuit))
            fsm.go("idle")

    @property
    def _operations(self) -> int:
        """Names of the available operations."""
        return len(OPERATIONS) + bool(self.spec.endpoint.schedule_entries)

    def _is_exchange(self, operation: Value) -> Value:
        """Return whether an operation sends one buffer and receives another."""
        found = operation == OPERATIONS.index("exchange")
        return (
            found | (operation == len(OPERATIONS)) if self._operations > len(OPERATIONS) else found
        )

    def _bit(self, circuit: Value) -> Value:
        return Cat(circuit == k for k in range(per_class(self)))

    def _other_generation(self, m: Module, asked: _Asked) -> Value:
        """Return, a cycle later, whether a phase is used with a different generation than before.

        The phase was then rewritten, and this endpoint still has numbers of the old entry, because
        software omitted FORGET. Packets carry only the lowest bits of a generation. So the whole
        generation is compared here, before anything is sent or received in the phase.
        """
        phases, bits = self.spec.protocol.phases, number_bits(self.spec)
        memory = Memory(shape=FULL_GENERATION_BITS, depth=1 << bits, init=[])
        m.submodules.generations = memory
        write = memory.write_port()
        named = Signal(phases, name="phases_named")
        flows = asked.rest.send, asked.rest.receive
        others: list[Value] = []
        names: list[Value] = []
        for flow, side in zip(flows, ("send", "receive"), strict=True):
            read = read_port(memory, f"{side}_generation")
            known = Signal(name=f"{side}_named")
            is_phase = ~flow.keep & ~flow.kind
            m.d.comb += [read.addr.eq(flow.number[:bits]), read.en.eq(1)]
            m.d.sync += known.eq(is_phase & selected(flow.number, list(named)))
            others.append(known & (read.data != flow.generation))
            names.append(Cat(is_phase & (flow.number == phase) for phase in range(phases)))
        clash = Signal(name="generations_differ")
        taken = Signal()
        behind = Signal()
        m.d.comb += [
            self.phases.eq((names[0] | names[1]) & self.busy.replicate(phases)),
            taken.eq(self.valid.any() & ~self.discards),
            write.addr.eq(Mux(behind, flows[1].number, flows[0].number)[:bits]),
            write.data.eq(Mux(behind, flows[1].generation, flows[0].generation)),
            write.en.eq((taken & names[0].any()) | (behind & names[1].any())),
        ]
        m.d.sync += [
            behind.eq(taken),
            named.eq((named | (self.phases & taken.replicate(phases))) & ~self.forget),
            clash.eq((names[0] & names[1]).any() & (flows[0].generation != flows[1].generation)),
        ]
        return others[0] | others[1] | clash

    def _look(
        self, m: Module, fsm: Fsm, asked: _Asked, bad: Signal, other_generation: Value
    ) -> None:
        """Check each field, and convert it."""
        operation, circuit, rest, is_ring = asked
        size = flit_bytes(self.spec)
        shift, count = (size - 1).bit_length(), count_bits(self.spec)
        of_rings = (rest.block_bytes, rest.message_bytes)
        odd, odd_ring, odd_receive, too_large, large_receive, no_flow, unnamed, ring = (
            Signal(name=name)
            for name in (
                *("odd", "odd_ring", "odd_receive", "too_large", "large_receive"),
                *("no_flow", "unnamed", "ring_wrong"),
            )
        )
        # Fields that an operation has no use for hold what was written for another one.
        moves = Signal()
        is_exchange = Signal()
        rings = (rest.members < 2) | (rest.members > MOST_MEMBERS) | (rest.rank >= rest.members)
        rings |= (rest.fsms == 0) | (rest.fsms > self.spec.endpoint.fsms)
        total, block = rest.bytes[shift:], rest.block_bytes[shift:]
        message = rest.message_bytes[shift:]
        rings |= (block == 0) | (message == 0) | (block > total)
        rings |= message > self.spec.endpoint.chunk_flits
        phases = self.spec.protocol.phases
        wrong_flows = [
            ~one.keep & ~one.kind & (one.number >= phases) for one in (rest.send, rest.receive)
        ]
        # A flow that is used is named, so that its generation is compared.
        sends, comes = (Value.cast(one).any() for one in (rest.bytes, rest.receive_bytes))
        exchanges = self._is_exchange(operation)
        m.d.sync += [
            moves.eq(operation != OPERATIONS.index("set_flows")),
            is_exchange.eq(exchanges),
            odd.eq(_any_below(shift, rest.source, rest.destination, rest.bytes)),
            odd_ring.eq(_any_below(shift, *of_rings)),
            odd_receive.eq(_any_below(shift, rest.receive_bytes)),
            too_large.eq(
                Cat(one[ADDRESS_BITS:] for one in (rest.source, rest.destination)).any()
                | Value.cast(rest.bytes)[shift + count :].any()
            ),
            large_receive.eq(Value.cast(rest.receive_bytes)[shift + count :].any()),
            no_flow.eq(wrong_flows[0] | wrong_flows[1]),
            unnamed.eq((rest.send.keep & sends) | (rest.receive.keep & (comes | ~exchanges))),
            ring.eq(rings | Cat(one[shift + count :] for one in of_rings).any()),
        ]
        large_any = too_large | (is_exchange & large_receive) | self._behind(m, asked)
        with fsm.state("judge"):
            m.d.sync += bad.eq(
                Cat(
                    (operation >= self._operations) | (circuit >= per_class(self)),
                    moves & (odd | (is_ring & odd_ring) | (is_exchange & odd_receive)),
                    no_flow | other_generation | (moves & unnamed),
                    moves & (large_any | (is_ring & ring)),
                )
            )
            self._convert(m, asked, total, (block, message))

    def _behind(self, m: Module, asked: _Asked) -> Value:
        """Return, a cycle later, whether a buffer extends beyond the memory."""
        shift, words = (flit_bytes(self.spec) - 1).bit_length(), word_bits(self.spec)
        rest = asked.rest
        ends = Signal(words + 1, name="source_end"), Signal(words + 1, name="destination_end")
        total = rest.bytes[shift:]
        comes = Mux(self._is_exchange(asked.operation), rest.receive_bytes[shift:], total)
        m.d.sync += [
            ends[0].eq(rest.source[shift:ADDRESS_BITS] + total),
            ends[1].eq(rest.destination[shift:ADDRESS_BITS] + comes),
        ]
        return (ends[0][words] & ends[0][:words].any()) | (ends[1][words] & ends[1][:words].any())

    def _convert(self, m: Module, asked: _Asked, total: Value, sizes: tuple[Value, Value]) -> None:
        """Compute values that follow from single fields."""
        operation, _, rest, is_ring = asked
        o, words = self.o, word_bits(self.spec)
        fsms, chunk = self.spec.endpoint.fsms, self.spec.endpoint.chunk_flits
        shift = (flit_bytes(self.spec) - 1).bit_length()
        rounds = rest.members - 1
        sends = (total != 0) & (operation != OPERATIONS.index("set_flows"))
        is_all_reduce = operation == OPERATIONS.index("all_reduce")
        is_gather = operation == OPERATIONS.index("all_gather")
        m.d.sync += [
            o.source.eq(rest.source[shift : shift + words]),
            o.destination.eq(rest.destination[shift : shift + words]),
            o.total.eq(total),
            o.block.eq(Mux(is_ring, sizes[0], total)),
            o.message.eq(Mux(is_ring, sizes[1], chunk)),
            o.sets_send.eq(~rest.send.keep),
            o.sets_receive.eq(~rest.receive.keep),
            o.direct.eq(0),
            o.expected.eq(0),
            o.parts.eq(sends),
            o.steps.eq(sends),
            o.receives.eq(0),
            o.reduces.eq(Mux(is_gather, 0, rounds)),
            o.stores.eq(Mux(is_gather, 0, rounds - 1)),
            o.last_fsm.eq(1 << fsms - 1),
        ]
        for flow, given in ((o.send, rest.send), (o.receive, rest.receive)):
            m.d.sync += [
                flow.phase.eq(Mux(given.kind, self.spec.protocol.online, given.number)),
                flow.peer.eq(Mux(given.kind, given.number, 0)),
                flow.generation.eq(Mux(given.kind, 0, given.generation)),
            ]
        with m.If(self._is_exchange(operation)):
            m.d.sync += [
                o.direct.eq(rest.receive_bytes[shift:]),
                o.expected.eq(rest.receive_bytes[shift:]),
            ]
        with m.If(is_ring):
            steps = Signal(STEP_BITS)
            m.d.comb += steps.eq(Mux(is_all_reduce, rounds << 1, rounds))
            m.d.sync += [
                o.parts.eq(Mux(is_gather, 1, rest.members)),
                o.steps.eq(steps),
                o.receives.eq(steps),
                o.last_fsm.eq(Cat(rest.fsms == k + 1 for k in range(fsms))),
            ]

    def _count(self, m: Module, fsm: Fsm, operation: Value, own: Value) -> None:
        """Count the flits that a ring member receives, less the first block sent and own ones."""
        o, is_all_reduce = self.o, operation == OPERATIONS.index("all_reduce")
        sizes: list[Value] = []
        for name, offset in (("first", o.first_offset), ("own", own)):
            rest, size = (Signal(len(o.total), name=f"{name}_{one}") for one in ("rest", "size"))
            m.d.sync += [
                rest.eq(Mux(offset < o.total, o.total - offset, 0)),
                size.eq(Mux(rest < o.block, rest, o.block)),
            ]
            sizes.append(size)
        with fsm.state("clip"):
            fsm.go("count")
        with fsm.state("count"):
            fsm.go("less")
        # First less the block that is sent first, then less its own.
        less = Mux(fsm.ongoing("count"), sizes[0], Mux(is_all_reduce, sizes[1], 0))
        whole = Mux(fsm.ongoing("count"), Mux(is_all_reduce, o.total << 1, o.total), o.expected)
        with m.If(fsm.ongoing("count") | fsm.ongoing("less")):
            m.d.sync += o.expected.eq(whole - less)
        with fsm.state("less"):
            fsm.go("give")

    def _blocks(self, m: Module, fsm: Fsm, asked: _Asked) -> tuple[Signal, Signal]:
        """Sum up messages and blocks of the preceding members.

        Return whether they do not fit, and where the block of this member begins.
        """
        o, count, rest = self.o, count_bits(self.spec), asked.rest
        chunk = self.spec.endpoint.chunk_flits
        index = Signal(8)
        first = Signal(8)
        places = Signal(len(o.message) + 1)
        offsets = Signal(count + 2)
        over = Signal()
        wrong = Signal()
        own = Signal.like(o.first_offset, name="own_offset")
        gathers = asked.operation == OPERATIONS.index("all_gather")
        before = Mux(rest.rank == 0, rest.members, rest.rank) - 1
        with fsm.state("judge"):
            m.d.sync += [
                index.eq(0),
                places.eq(0),
                offsets.eq(0),
                over.eq(0),
                first.eq(Mux(gathers, rest.rank, before)),
                o.first_place.eq(0),
                o.first_offset.eq(0),
                o.last_place.eq(0),
                o.last_offset.eq(0),
            ]
        with fsm.state("blocks"):
            m.d.sync += [
                index.eq(index + 1),
                places.eq(places + o.message),
                offsets.eq(offsets + o.block),
                over.eq(over | (places >= chunk) | offsets[count + 1]),
            ]
            with m.If(index == first):
                m.d.sync += [o.first_place.eq(places), o.first_offset.eq(offsets)]
            with m.If(index == rest.rank):
                m.d.sync += own.eq(offsets)
            m.d.sync += [o.last_place.eq(places), o.last_offset.eq(offsets)]
            # A ring of more members than there may be is refused anyway.
            with m.If((index + 1 >= rest.members) | (index == MOST_MEMBERS)):
                fsm.go("sum")
        m.d.comb += wrong.eq(over | (places > chunk) | offsets[count + 1] | (offsets < o.total))
        return wrong, own
