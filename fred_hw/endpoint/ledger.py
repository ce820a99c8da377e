"""Sequence numbers of successive flows on a virtual channel."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.memory_ports import read_port
from fred_hw.member import member
from fred_hw.protocol import ADDRESSES
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .flow import flow_layout, route_layout

__all__ = ["Ledger"]


class Ledger(Unit):
    """Store the next sequence number of each flow, and the generation of each phase's number.

    All numbers of a phase have one generation. They are forgotten when the phase is set in another
    generation, and on ``forget``, so that a reused generation starts at 0.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    place_bits : int
        Bits of a number below its packet, for the index in that packet: 0 if flows change only
        between packets.

    Timing
    ------
    Latency : none to read; 1 cycle to write.
    Throughput : one number per cycle.
    Paths : flows to what is known of them.
    Reset : forgets all.
    """

    flow: data.View = member(In, lambda u: flow_layout(u.spec))
    """The configured flow."""
    changed = member(Out, 1)
    """The flow, or its generation, differs from the previous cycle."""
    stored = member(Out, lambda u: u.place_bits + u.spec.protocol.fields["sequence"])
    """Stored number of the flow, 0 if none was written."""
    write = member(In, 1)
    """Write the number for the flow, and generation, of the previous cycle."""
    number = member(In, lambda u: u.place_bits + u.spec.protocol.fields["sequence"])
    """The number to write."""
    clear = member(In, 1)
    """Forget the flow of the previous cycle."""
    forget = member(In, lambda u: u.spec.protocol.phases)
    """Phases to forget, even if one is written in the same cycle."""
    other: data.View = member(In, lambda u: flow_layout(u.spec))
    """Another flow."""
    other_stored = member(Out, lambda u: u.place_bits + u.spec.protocol.fields["sequence"])
    """Number of the other flow, 0 if none was written."""
    other_known = member(Out, 1)
    """Whether a number of the other flow was written."""
    other_seen = member(Out, 1)
    """Whether a number of the other flow was written, in any generation."""
    stored_route: data.View = member(
        Out, route_layout(), when=lambda u: u.spec.protocol.routes is not None
    )
    """If sources choose routes: the stored state of the flow's route."""
    route: data.View = member(In, route_layout(), when=lambda u: u.spec.protocol.routes is not None)
    """If sources choose routes: the state of the flow's route to write."""

    def __init__(self, *, spec: SwitchSpec, place_bits: int = 0) -> None:
        self.spec = check_spec("Ledger", spec)
        self.place_bits = check_int("Ledger place_bits", place_bits, minimum=0)
        self.unit_name = f"ledger_p{spec.ports}_{spec.protocol.suffix}"
        if place_bits:
            self.unit_name += f"_i{place_bits}"
        super().__init__()

    def build(self, m: Module) -> None:
        count = self.spec.protocol.phases + ADDRESSES
        flow, generation = self.flow, len(self.flow.generation)
        fields = {"number": len(self.number), "generation": generation}
        chooses = self.spec.protocol.routes is not None
        kept = data.StructLayout({**fields, **({"route": route_layout()} if chooses else {})})
        memory = m.submodules.memory = Memory(shape=kept, depth=count, init=[])
        write = memory.write_port()
        names = ("key", "held", "other_key")
        key, held, other = (Signal(range(count), name=name) for name in names)
        known = Signal(count)
        mine = Signal(count)
        earlier = Signal(generation)
        m.d.comb += [
            key.eq(self._key(flow)),
            other.eq(self._key(self.other)),
            self.changed.eq((key != held) | (flow.generation != earlier)),
            mine.eq(1 << held),
            write.addr.eq(held),
            write.data.number.eq(self.number),
            write.data.generation.eq(earlier),
            write.en.eq(self.write),
        ]
        if chooses:
            m.d.comb += write.data.route.eq(self.route)
        m.d.sync += [held.eq(key), earlier.eq(flow.generation)]
        own = Signal(name="key_known"), Signal(name="key_seen")
        # Unicasts always have the same generation, so only phases can change theirs.
        stale = Signal()
        forgotten = Signal(self.spec.protocol.phases)
        m.d.comb += [
            stale.eq(self.changed & ((key == held) | ~own[0])),
            *(
                one.eq(self.forget[phase] | (stale & (flow.phase == phase)))
                for phase, one in enumerate(forgotten)
            ),
        ]
        kept_then = Mux(self.clear, known & ~mine, known | Mux(self.write, mine, 0))
        m.d.sync += known.eq(kept_then & ~Cat(forgotten, Const(0, ADDRESSES)))
        others = self.other_known, self.other_seen
        for name, address, one, stored, (there, seen) in (
            ("flow", key, flow, self.stored, own),
            ("other", other, self.other, self.other_stored, others),
        ):
            read = read_port(memory, f"{name}_read", domain="comb")
            m.d.comb += [
                read.addr.eq(address),
                seen.eq(known.bit_select(address, 1)),
                there.eq(seen & (read.data.generation == one.generation)),
                stored.eq(read.data.number & there.replicate(len(stored))),
            ]
            if chooses and address is key:
                bits = self.stored_route.as_value()
                m.d.comb += bits.eq(read.data.route.as_value() & there.replicate(len(bits)))

    def _key(self, flow: data.View) -> Value:
        """Return the index of a flow: its phase, or one per peer for unicasts."""
        protocol = self.spec.protocol
        return Mux(flow.phase == protocol.online, protocol.phases + flow.peer, flow.phase)
