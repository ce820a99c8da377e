"""Queue of one virtual channel of an input port, and the fate of its first packet."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.late_choice import choose_late
from fred_hw.gates.select import selected
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.spec import SwitchSpec, check_spec

from .flit_queue import FlitHead, FlitQueue
from .signatures import mark_layout, port_bits

__all__ = ["CircuitQueue"]

THROWN = ("unknown", "late", "early", "stuck", "stale")
"""Why packets are thrown away."""


class CircuitQueue(FlitQueue):
    """Queue packets without their payload; offer the one at the head if it is due.

    A packet is due if its number is the one that its flow takes next, and its generation that of
    the flow; all others are thrown away. A unicast is always due. That is found out when a packet
    comes to the head, by ``asks``, and kept until numbers change. A packet that follows one that
    has started, of the same phase and generation and with the next number, or a unicast behind a
    unicast, is due without asking, so that packet follows packet without a gap; not
    behind ``changed`` or ``overtaken``, and not if it cuts that one short.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    arrives, mark, incoming : In(1), In(mark_layout(spec)), In(1)
        A flit comes, and what it is; whether more may come of the packet of the last one.
    ready, used : Out(1), Out(range(buffer_flits + 1))
        Whether there is space for a flit, else it is lost; flits inside, one that goes counted for
        a cycle more.
    tail, place : Out(range(buffer_flits)), Out(range(buffer_flits))
        Where the payload of a flit that comes belongs, and where that of the head is.
    enable : In(1)
        Whether heads are looked at.
    serves : In(phases)
        Phases of this circuit that take packets from this port.
    asks, answered : Out(1), In(1)
        The number of the phase at the head is wanted; it is there in the next cycle.
    foretold : In(1)
        The number of the flow of ``mark``, the first of a packet, is there in the next cycle; of
        use if that flit comes straight to the head, between packets.
    due, generation : In(sequence), In(generation)
        Number that the flow takes next, and its generation, a cycle after ``answered``.
    changed, overtaken : In(1)
        Numbers or phases change; a packet of the flow at the head starts from another circuit.
        What was found out before counts no more.
    waiting, descriptor, exit : Out(1), Out(descriptor_layout(spec)), Out(port_bits(spec))
        Whether the head is a packet that may start, what is known of it, and where it leaves if
        it is a unicast.
    served, following, load : In(phase), In(phase), In(1)
        Phase that is served in this cycle, and in the next one if ``load`` is high.
    of_phase : Out(1)
        Whether the head is of the phase that is served; of use while ``waiting``.
    anew : Out(1)
        Another packet is at the head, or that at it started in the cycle before.
    start, take, finish : In(1)
        Start it, with ``take``; take a flit; its flow ends its packet, what is left of this one is
        thrown away.
    valid, last : Out(1), Out(1)
        A flit is there; it ends the packet.
    broken : Out(1)
        The rest of the packet is not there and will not come.
    unknown : Out(1)
        High for a cycle when a packet is thrown away because its phase takes none from this port,
        though it is of the phase's generation.
    late, early, stuck, stale : Out(1)
        High for a cycle when a packet is thrown away that was due before, or is due later, or has
        waited for ``head_of_line_timeout_cycles``, or is of another generation.
    enters, leaves : Out(1)
        Likewise, when the first flit of a packet comes, and when it goes.

    Timing
    ------
    Latency : 1 cycle from a flit to the head; from there to ``waiting`` none if the packet follows
        one that has started, 1 if the number was ``foretold``, else 2 after ``answered``.
    Throughput : one flit per cycle.
    Paths : ``enable`` to ``asks``, ``arrives`` and ``mark`` to ``enters``, ``take`` to ``leaves``,
        ``incoming`` to ``broken``.
    Reset : forgets all packets.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    enable: Signal
    serves: Signal
    asks: Signal
    answered: Signal
    foretold: Signal
    due: Signal
    generation: Signal
    changed: Signal
    overtaken: Signal
    exit: Signal
    served: Signal
    following: Signal
    load: Signal
    of_phase: Signal
    anew: Signal
    unknown: Signal
    late: Signal
    early: Signal
    stale: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("CircuitQueue", spec)
        protocol, fields = spec.protocol, spec.protocol.fields
        self.unit_name = f"circuit_queue_p{spec.ports}_{protocol.suffix}"
        depth = protocol.buffer_flits
        inputs = ("arrives", "incoming", "enable", "answered", "foretold", "changed", "overtaken")
        inputs += ("load", "start", "take", "finish")
        outputs = (
            "ready",
            "asks",
            "waiting",
            "of_phase",
            "anew",
            "valid",
            "last",
            "broken",
            "enters",
            "leaves",
        )
        members: dict[str, Any] = {
            **dict.fromkeys(inputs, In(1)),
            **dict.fromkeys((*outputs, *THROWN), Out(1)),
            "mark": In(mark_layout(spec)),
            "used": Out(range(depth + 1)),
            "tail": Out(range(depth)),
            "place": Out(range(depth)),
            "serves": In(protocol.phases),
            "due": In(fields["sequence"]),
            "generation": In(fields["generation"]),
            **dict.fromkeys(("served", "following"), In(fields["phase"])),
            "descriptor": Out(descriptor_layout(spec)),
            "exit": Out(port_bits(spec)),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        head = self.advance(m)
        here, mark, under_way = head.here, head.mark, Signal()
        self._compare_phase(m, head)
        first, goes, outside = here & mark.first & ~under_way, Signal(), Signal()
        # Whether the next cycle is between packets.
        m.d.comb += outside.eq(self.finish | (~under_way & ~self.start))
        known = self.answered | (self.foretold & head.moves & head.direct & outside)
        self._judge(m, head, first, known, outside)
        with m.If(head.moves):
            m.d.sync += goes.eq(~head.following.first & ~outside)
        with m.Else():
            m.d.sync += goes.eq(here & ~head.pop & ~mark.first & ~outside)
        m.d.comb += [self.exit.eq(mark.exit), self.valid.eq(goes | self.waiting)]
        self.give(m, head, under_way, Cat(getattr(self, name) for name in THROWN).any())

    def _compare_phase(self, m: Module, head: FlitHead) -> None:
        """Find out a cycle before whether the head will be of the phase that is served then.

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
        """Find out what becomes of the packet at the head."""
        due, asked, judged = self.waiting, Signal(), Signal()
        chain, follows, spoilt = Signal(), Signal(), Signal()
        own, then = head.mark.descriptor, head.following.descriptor
        verdict = self._compare(m, own)
        next_one = (own.sequence + 1)[: len(own.sequence)]
        due_next = (then.generation == own.generation) & (then.sequence == next_one)
        online = own.phase == self.spec.protocol.online
        goes_on = online | due_next
        stuck = self.spec.protocol.head_of_line_timeout_cycles
        timeout = Signal(range(stuck + 1))
        ends, gives_up, anew = Signal(), Signal(), self.anew
        m.d.comb += [
            self.asks.eq(first & ~judged & ~asked & self.enable),
            spoilt.eq(self.changed | self.overtaken),
            # It has started, and the number that is due is the one behind it.
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
        # A verdict that is asked for again goes on with the wait of the one before. That another
        # packet is at the head is known late, and counts a cycle later.
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
        # What moves is known last.
        kept = choose_late(m, "due_then", head.moves & head.following.first, follows, stays)
        m.d.sync += due.eq(kept & ~spoilt)

    def _compare(self, m: Module, head: data.View) -> dict[str, Value]:
        """Compare the packet at the head with the number of its flow, if it has one here."""
        protocol = self.spec.protocol
        online = head.phase == protocol.online
        known, stale, behind = Signal(), Signal(), Signal.like(self.due)
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
