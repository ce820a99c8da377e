"""Queue of one virtual channel of an input port, and the fate of its first packet."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.late_choice import choose_late
from fred_hw.gates.select import selected
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec

from .flit_queue import FlitHead, FlitQueue
from .signatures import mark_layout, port_bits

__all__ = ["CircuitQueue"]

THROWN = ("unknown", "late", "early", "stuck", "stale")
"""Reasons for dropping packets."""


class CircuitQueue(FlitQueue):
    """Queue packets without payload; offer the one at the head if it is the expected one.

    A packet is expected if its number is the next one of its flow, and its generation that of the
    flow; all others are dropped. A unicast is always expected. The check happens when a packet
    reaches the head, by ``asks``, and its result is kept until numbers change. A packet after one
    that has started, of the same phase and generation and with the next number, or a unicast after
    a unicast, is expected without a check, so that packets follow each other without a gap; but not
    after ``changed`` or ``overtaken``, and not if it cuts the previous packet short.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from a flit to the head; from there to ``waiting`` none if the packet follows
        one that has started, 1 if the number was ``prefetched``, else 2 after ``answered``.
    Throughput : one flit per cycle.
    Paths : ``enable`` to ``asks``, ``arrives`` and ``mark`` to ``enters``, ``take`` to ``leaves``,
        ``incoming`` to ``broken``.
    Reset : forgets all packets.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    enable = member(In, 1)
    """Whether heads are checked."""
    answered = member(In, 1)
    """The number that ``asks`` requests is available in the next cycle."""
    prefetched = member(In, 1)
    """The number of the flow of ``mark``, the first flit of a packet, is available in the next
    cycle; not with ``start``; used if that flit goes directly to the head, between packets."""
    changed = member(In, 1)
    """Numbers or phases change; earlier checks no longer count."""
    overtaken = member(In, 1)
    """A packet of the head's flow starts from another channel; earlier checks no longer count."""
    load = member(In, 1)
    """The served phase changes after this cycle."""
    # Placed here, since the order of ports is part of the hash of a measured design.
    start, take, finish = FlitQueue.start, FlitQueue.take, FlitQueue.finish
    asks = member(Out, 1)
    """The number of the head's phase is requested."""
    waiting = FlitQueue.waiting
    of_phase = member(Out, 1)
    """Whether the head belongs to the served phase; valid while ``waiting``."""
    anew = member(Out, 1)
    """Another packet is at the head, or the one at the head started in the previous cycle."""
    valid, last, broken = FlitQueue.valid, FlitQueue.last, FlitQueue.broken
    enters, leaves = FlitQueue.enters, FlitQueue.leaves
    unknown = member(Out, 1)
    """High for a cycle when a packet of the phase's generation is dropped because the phase takes
    none from this port."""
    late = member(Out, 1)
    """High for a cycle when a packet is dropped because its number is before the expected one."""
    early = member(Out, 1)
    """High for a cycle when a packet is dropped because its number is after the expected one."""
    stuck = FlitQueue.stuck
    stale = member(Out, 1)
    """High for a cycle when a packet is dropped because it is of another generation."""
    mark, used, tail, place = FlitQueue.mark, FlitQueue.used, FlitQueue.tail, FlitQueue.place
    serves = member(In, lambda u: u.spec.protocol.phases)
    """Phases of this channel that take packets from this port."""
    due = member(In, lambda u: u.spec.protocol.fields["sequence"])
    """Number that the flow expects next, a cycle after ``answered``."""
    generation = member(In, lambda u: u.spec.protocol.fields["generation"])
    """Generation of the flow, a cycle after ``answered``."""
    served = member(In, lambda u: u.spec.protocol.fields["phase"])
    """Phase that is served in this cycle."""
    following = member(In, lambda u: u.spec.protocol.fields["phase"])
    """Phase that is served in the next cycle if ``load`` is high."""
    descriptor = FlitQueue.descriptor
    exit = member(Out, lambda u: port_bits(u.spec))
    """Output port of the waiting packet if it is a unicast."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("CircuitQueue", spec)
        self.unit_name = f"circuit_queue_p{spec.ports}_{spec.protocol.suffix}"
        self.layout = mark_layout(spec)
        super().__init__()

    def build(self, m: Module) -> None:
        head = self.advance(m)
        here, mark = head.here, head.mark
        under_way = Signal()
        self._compare_phase(m, head)
        first = here & mark.first & ~under_way
        goes = Signal()
        outside = Signal()
        # Whether no packet is being sent in the next cycle.
        m.d.comb += outside.eq(self.finish | (~under_way & ~self.start))
        known = self.answered | (self.prefetched & head.moves & head.direct & outside)
        self._judge(m, head, first, known, outside)
        with m.If(head.moves):
            m.d.sync += goes.eq(~head.following.first & ~outside)
        with m.Else():
            m.d.sync += goes.eq(here & ~head.pop & ~mark.first & ~outside)
        m.d.comb += [self.exit.eq(mark.exit), self.valid.eq(goes | self.waiting)]
        self.give(m, head, under_way, Cat(getattr(self, name) for name in THROWN).any())

    def _compare_phase(self, m: Module, head: FlitHead) -> None:
        """Determine, a cycle early, whether the head will belong to the served phase.

        That the head goes, and what is served, are known late, and choose.
        """
        own, then = (
            Cat(one.descriptor.phase == phase for phase in (self.served, self.following))
            for one in (head.mark, head.following)
        )
        gone, kept = (Mux(moved, then, own) for moved in (head.comes, head.comes & ~head.here))
        loaded = choose_late(m, "loaded", self.load, Cat(gone[1], kept[1]), Cat(gone[0], kept[0]))
        m.d.sync += self.of_phase.eq(choose_late(m, "then", head.pop, loaded[0], loaded[1]))

    def _judge(self, m: Module, head: FlitHead, first: Value, known: Value, outside: Value) -> None:
        """Determine the fate of the packet at the head."""
        due = self.waiting
        asked = Signal()
        judged = Signal()
        chain = Signal()
        follows = Signal()
        spoilt = Signal()
        own, then = head.mark.descriptor, head.following.descriptor
        verdict = self._compare(m, own)
        next_one = (own.sequence + 1)[: len(own.sequence)]
        due_next = (then.generation == own.generation) & (then.sequence == next_one)
        online = own.phase == self.spec.protocol.online
        goes_on = online | due_next
        stuck = self.spec.protocol.head_of_line_timeout_cycles
        timeout = Signal(range(stuck + 1))
        anew = self.anew
        ends = Signal()
        gives_up = Signal()
        m.d.comb += [
            self.asks.eq(first & ~judged & ~asked & self.enable),
            spoilt.eq(self.changed | self.overtaken),
            # It has started, so the following number is expected.
            follows.eq((chain | self.start) & (then.phase == own.phase) & goes_on & outside),
            ends.eq(timeout == stuck - 1),
            gives_up.eq(due & ~self.start & ~anew & ends),
        ]
        m.d.sync += [
            asked.eq(known & ~spoilt),
            self.stuck.eq(gives_up & ~spoilt),
            *(
                getattr(self, name).eq(asked & verdict[name] & ~spoilt)
                for name in THROWN
                if name != "stuck"
            ),
        ]
        # A repeated request for a verdict continues the wait of the previous one. That another
        # packet is at the head settles late, and counts a cycle later.
        m.d.sync += anew.eq(self.start | (head.moves & head.following.first))
        with m.If(anew):
            m.d.sync += timeout.eq(due)
        with m.Elif(due & ~ends):
            m.d.sync += timeout.eq(timeout + 1)
        with m.If(spoilt):
            m.d.sync += [chain.eq(0), judged.eq(0)]
        with m.Elif(head.moves & head.following.first):
            m.d.sync += [chain.eq(0), judged.eq(follows)]
        with m.Elif(self.start):
            m.d.sync += chain.eq(1)
        with m.Elif(asked):
            m.d.sync += judged.eq(1)
        stays = ~self.start & Mux(asked, verdict["due"], due & ~gives_up)
        # The head moves late in the cycle.
        kept = choose_late(m, "due_then", head.moves & head.following.first, follows, stays)
        m.d.sync += due.eq(kept & ~spoilt)

    def _compare(self, m: Module, head: data.View) -> dict[str, Value]:
        """Compare the packet at the head with its flow's expected number, if it has a flow here."""
        protocol = self.spec.protocol
        online = head.phase == protocol.online
        known = Signal()
        stale = Signal(name="other_generation")
        behind = Signal.like(self.due, name="due_ahead")
        m.d.comb += [
            known.eq(selected(head.phase, list(self.serves))),
            stale.eq((head.phase < protocol.online) & (head.generation != self.generation)),
            behind.eq(self.due - head.sequence),
        ]
        mine, before = known & ~stale, behind <= protocol.window_packets
        return {
            "stale": stale,
            "unknown": ~online & ~known & ~stale,
            "due": online | (mine & (behind == 0)),
            "late": mine & (behind != 0) & before,
            "early": mine & ~before,
        }
