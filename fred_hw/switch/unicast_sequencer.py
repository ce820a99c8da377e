"""Sequencer of one source's unicasts: start, continue, end."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

__all__ = ["UnicastSequencer"]


class UnicastSequencer(Unit):
    """Take a flit of a unicast in each cycle in which there is one.

    It is what a ``FlowSequencer`` is for flows, but has one input, and no need to know which.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    may, here, space : In(1)
        Whether packets may start; whether there is one that has a path, and space at its end.
    valid, broken, last : In(1)
        There is a flit; the rest of the packet is not there and will not come; it is the last one.
    length : In(last)
        Place of the last flit of the packet that starts.
    able, start, fire, ending, bad : Out(1)
        A packet would start if it may; it starts; a flit goes in; it ends the packet; the packet
        must not be used.
    under_way, stays, lasts : Out(1)
        Whether a packet has started before this cycle; whether it goes on behind it; whether that
        or one that starts in it does.
    closing : Out(1)
        The flit behind this cycle's is the last of the packet; of use with ``lasts``.

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

    may: Signal
    here: Signal
    space: Signal
    valid: Signal
    broken: Signal
    last: Signal
    length: Signal
    able: Signal
    start: Signal
    fire: Signal
    ending: Signal
    bad: Signal
    under_way: Signal
    stays: Signal
    lasts: Signal
    closing: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("UnicastSequencer", spec)
        length = spec.protocol.fields["last"]
        self.unit_name = f"unicast_sequencer_n{length}"
        inputs = ("may", "here", "space", "valid", "broken", "last")
        strobes = (
            "able",
            "start",
            "fire",
            "ending",
            "bad",
            "under_way",
            "stays",
            "lasts",
            "closing",
        )
        members = {
            **dict.fromkeys(inputs, In(1)),
            "length": In(length),
            **dict.fromkeys(strobes, Out(1)),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        under_way, stops, there = self.under_way, Signal(), Signal()
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
        # Whether the next flit is the last is known before it is there.
        left, single = Signal.like(self.length), Signal()
        m.d.comb += self.closing.eq(
            Mux(self.start, self.length == 1, Mux(there, left == 2, single))
        )
        m.d.sync += single.eq(self.closing)
        with m.If(self.start):
            m.d.sync += left.eq(self.length)
        with m.Elif(self.fire):
            m.d.sync += left.eq(left - 1)
