"""Sequencer of one source's unicasts: starts, continues and ends packets."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

__all__ = ["UnicastSequencer"]


class UnicastSequencer(Unit):
    """Take a flit of a unicast in each cycle in which there is one.

    It does for unicasts what a ``FlowSequencer`` does for flows, but has only one input.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : none, a packet starts in the cycle in which all is there.
    Throughput : a flit per cycle, and packet behind packet without a gap.
    Paths : all inputs but ``length`` to the outputs but ``under_way``, that
        and ``start`` to ``closing``.
    Reset : forgets the packet.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    may = member(In, 1)
    """Whether packets may start."""
    here = member(In, 1)
    """Whether there is a packet with a path."""
    space = member(In, 1)
    """Whether the destination of the packet has space."""
    valid = member(In, 1)
    """A flit is present."""
    broken = member(In, 1)
    """The rest of the packet is missing and will not arrive."""
    last = member(In, 1)
    """The flit is the last one of the packet."""
    length = member(In, lambda u: u.spec.protocol.fields["last"])
    """Index of the last flit of the packet that starts."""
    able = member(Out, 1)
    """A packet would start if allowed."""
    start = member(Out, 1)
    """The packet starts."""
    fire = member(Out, 1)
    """A flit is sent."""
    ending = member(Out, 1)
    """The flit ends the packet."""
    bad = member(Out, 1)
    """The packet must not be used."""
    under_way = member(Out, 1)
    """Whether a packet started before this cycle is in progress."""
    stays = member(Out, 1)
    """Whether the packet from an earlier cycle continues after this cycle."""
    lasts = member(Out, 1)
    """Whether the packet from an earlier cycle, or one that starts in this cycle, continues after
    this cycle."""
    closing = member(Out, 1)
    """The next flit is the last one of the packet; valid with ``lasts``."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("UnicastSequencer", spec)
        length = spec.protocol.fields["last"]
        self.unit_name = f"unicast_sequencer_n{length}"
        super().__init__()

    def build(self, m: Module) -> None:
        under_way = self.under_way
        stops = Signal()
        there = Signal()
        m.d.comb += [
            self.able.eq(~under_way & self.here & self.space),
            self.start.eq(self.may & self.able),
            there.eq(self.valid | self.broken),
            self.fire.eq(self.start | (under_way & there)),
            stops.eq(self.last | self.broken),
            self.ending.eq(self.fire & stops),
            self.bad.eq(self.ending & self.broken),
            self.stays.eq(under_way & ~(there & stops)),
            self.lasts.eq(self.stays | (self.start & ~stops)),
        ]
        m.d.sync += under_way.eq(self.lasts)
        # Whether the next flit is the last is known before it arrives.
        left = Signal.like(self.length)
        single = Signal()
        m.d.comb += self.closing.eq(
            Mux(self.start, self.length == 1, Mux(there, left == 2, single))
        )
        m.d.sync += single.eq(self.closing)
        with m.If(self.start):
            m.d.sync += left.eq(self.length)
        with m.Elif(self.fire):
            m.d.sync += left.eq(left - 1)
