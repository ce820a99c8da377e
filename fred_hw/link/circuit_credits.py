"""Credits of a virtual channel at its sender."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.gates.late_choice import choose_late
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .credits import link_sequence_bits

__all__ = ["CircuitCredits"]


class CircuitCredits(Unit):
    """Assign link sequence numbers to packets while the neighbour has space.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from ``start`` to ``space`` and ``link_sequence``, 2 to ``owed``; 2 from
        ``grant``; 1 from ``closed`` and ``lost`` to ``space``.
    Throughput : one packet and one limit per cycle.
    Paths : none.
    Reset : all space is granted, and the next sequence number is 0.
    """

    grant = member(In, 1)
    """The neighbour reports its credit limit."""
    limit = member(In, lambda u: link_sequence_bits(u.spec))
    """The reported limit."""
    closed = member(In, 1)
    """No packet may start."""
    lost = member(In, 1)
    """Any packet may start, and is lost."""
    begins = member(In, 1)
    """Sequence numbers restart at 0, and there is no space until the neighbour reports some; not
    with ``start``."""
    start = member(In, 1)
    """A packet takes its sequence number; only while ``space``."""
    length = member(In, lambda u: u.spec.protocol.fields["last"])
    """Index of the last flit of that packet."""
    space = member(Out, 1)
    """Whether the neighbour has space for a largest packet."""
    owed = member(Out, 1)
    """Whether some of its space is not granted; a cycle late."""
    link_sequence = member(Out, lambda u: link_sequence_bits(u.spec))
    """Sequence number of the next packet."""
    taken = member(Out, lambda u: link_sequence_bits(u.spec))
    """Sequence number of the packet that started in the previous cycle."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("CircuitCredits", spec)
        protocol = spec.protocol
        sizes = f"b{protocol.buffer_packets}_k{protocol.packet_flits}{protocol.channels.suffix}"
        self.unit_name = f"circuit_credits_{sizes}"
        super().__init__()

    def build(self, m: Module) -> None:
        most, largest = self.spec.protocol.buffer_flits, self.spec.protocol.packet_flits
        taken, before, spare = (
            Signal.like(self.link_sequence, name=name)
            for name in ("taken_flits", "before", "spare")
        )
        # The first position at which no largest packet may start, so its size is not subtracted.
        limit = Signal.like(self.link_sequence, name="start_limit", init=most - largest)
        # The start settles late in its cycle, and is counted in the next one.
        begun = Signal()
        length = Signal.like(self.length, name="begun_length")
        fits = Signal()
        last = Signal()
        flits = Signal.like(self.link_sequence)
        space = Signal(init=1)
        m.d.comb += [
            flits.eq(Mux(begun, length + 1, 0)),
            self.link_sequence.eq(taken + flits),
            self.taken.eq(taken),
            before.eq(limit - taken),
            # A started packet has a flit more than its length field: the complement subtracts both.
            spare.eq(before + (begun.replicate(len(spare)) & ~(length | Const(0, len(spare))))),
            self.space.eq(space),
            fits.eq(self.lost | (spare <= most - largest)),
            # Only used if a largest packet fits, so there is no borrow.
            last.eq(~self.lost & self._at_most_length(m, spare)),
        ]
        open_ = wire(m, "open", fits & ~self.closed & ~self.begins)
        m.d.sync += [
            begun.eq(self.start),
            length.eq(self.length),
            taken.eq(self.link_sequence),
            self.owed.eq(spare != most - largest),
            # The start of a packet settles last.
            space.eq(choose_late(m, "space_then", self.start, open_ & ~last, open_)),
        ]
        with m.If(self.grant):
            m.d.sync += limit.eq(self.limit - largest)
        with m.If(self.begins):
            m.d.sync += [taken.eq(0), limit.eq(-largest)]

    def _at_most_length(self, m: Module, spare: Value) -> Value:
        """Return whether a number is at most the length, whose bits all arrive late."""
        bits = (self.spec.protocol.packet_flits - 1).bit_length()
        most = Cat(spare <= length for length in range(1 << bits))
        for place in reversed(range(bits)):
            half = 1 << place
            name = f"by_length_{place}"
            most = choose_late(m, name, self.length[place], most[half:], most[:half])
        return most[0]
