"""Starvation guard: reserves buffer space for packets that others overtake."""

from collections.abc import Callable
from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import entry_layout, number_bits
from fred_hw.gates.fsm import Fsm
from fred_hw.gates.select import any_of, gated, one_hot_mux
from fred_hw.gates.wire import wire
from fred_hw.member import Bundle, member
from fred_hw.per_class import array_per_class, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit
from fred_hw.virtual_channels import CLASS_BITS

from .ports.signatures import port_bits

__all__ = [
    "CLAIM_CYCLES",
    "RECENT_CYCLES",
    "RESERVE_CYCLES",
    "SETTLE_CYCLES",
    "URGENT_CYCLES",
    "WATCH_CYCLES",
    "PortAges",
    "StarvationGuard",
]

WATCH_CYCLES = 256
"""Cycles that a packet waits at a head before buffer space is reserved for it."""
URGENT_CYCLES = 32
"""The same, if only less urgent packets took the buffer space."""
RECENT_CYCLES = 2048
"""Least time for which a packet sent to an output is remembered [cycles]; at most twice that."""
RESERVE_CYCLES = 2048
"""Longest reservation of buffer space [cycles], as an output may have none for long."""
CLAIM_CYCLES = 64
"""Cycles in which a packet with buffer space must be served, before its claim expires."""
SETTLE_CYCLES = 8
"""Cycles after which buffer space that was seen can no longer be taken by others."""


class _Flow(NamedTuple):
    """Whether the phase is being probed, the flow's outputs, and whether an input is empty."""

    now: Value
    ends: Value
    alone: Value


class _Outputs(NamedTuple):
    """Outputs with space, with space at the next receiver, and taken by others (or less urgent)."""

    vacant: Signal
    granted: Signal
    took: Signal
    less: Signal


class _Watched(NamedTuple):
    """Whether the packet has moved, and its flow; ``early`` if only less urgent packets count."""

    anew: Value
    ends: Signal
    alone: Signal
    early: Signal


class _States(NamedTuple):
    """The state machine, the time in its state, and functions to enter a state or leave."""

    fsm: Fsm
    elapsed: Signal
    enter: Callable[[str], None]
    leave: Callable[[], None]


class PortAges(Bundle):
    """Waiting packets at the heads of a port, and the packets that its output sends."""

    waiting = member(Out, per_class)
    """For each channel: a packet waits at the head."""
    anew = member(Out, per_class)
    """For each channel: the packet has just arrived there, or started in the previous cycle."""
    vacant = member(Out, per_class)
    """For each channel whether the output has space for a packet, reserved or not."""
    granted = member(Out, per_class)
    """For each channel whether the receiver behind the output has space."""
    phases: data.View = member(Out, array_per_class(lambda spec: spec.protocol.fields["phase"]))
    """Phases of these packets."""
    exits: data.View = member(Out, array_per_class(port_bits))
    """Output ports of the unicasts among these packets."""
    starts = member(Out, 1)
    """A packet to the output of this port started in the previous cycle."""
    circuit = member(Out, CLASS_BITS)
    """Channel of that packet."""
    reserved = member(In, per_class)
    """Channels whose space at the output is reserved."""


class StarvationGuard(Unit):
    """Reserve buffer space for a packet that others always overtake.

    The scheduler chooses among phases that could start, and with some traffic the space for one is
    returned only while others are served. The guard examines the heads of queues one after the
    other. It acts if a packet has waited for ``WATCH_CYCLES`` at one, all inputs of its flow have
    theirs, and other packets on its channel or on less urgent ones, which share the queue of an
    output, were sent to each of its outputs that is full. Then it reserves these outputs: no such
    packet may start there. When they have space it reserves all outputs, and when these had it for
    ``SETTLE_CYCLES`` it claims the next choice: nothing else on these channels is chosen, and when
    the packet's phase is served the space is there. An output that turns out to be full then is one
    of those that are reserved first. So a packet that waits for other inputs, or for an output that
    takes nothing, blocks no others. Packets count as sent to an output if this happened in the last
    ``RECENT_CYCLES``, watched or not: a slow output may take a packet in each watch of another
    queue. Unicasts are served round-robin among themselves, so for a unicast only packets of
    phases, and on less urgent channels, count. If only less urgent packets went to each of those
    outputs, ``URGENT_CYCLES`` are enough. Less urgent packets only use space in the queue of an
    output: if the receiver behind it has none, they do not count, and continue.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from ``phase`` to ``ports[...].reserved``, ``SETTLE_CYCLES`` and 4 from
        ``ports[...].vacant`` and 3 from ``ports[...].anew`` to ``claims`` and ``holds``;
        ``WATCH_CYCLES`` and some from a packet that waits to ``reserved``, ``2 * 3 * P`` of which
        until its queue is looked at.
    Throughput : one packet at a time.
    Paths : none.
    Reset : watches the first queue anew.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    ports: list[PortAges] = member(
        In, lambda u: PortAges.signature(u.spec), array=lambda u: u.spec.ports
    )
    """Waiting packets, and the outputs to which packets go."""
    probes = member(In, 1)
    """Whether the scheduler examines a phase."""
    probe = member(In, lambda u: number_bits(u.spec))
    """The examined phase."""
    probed: data.View = member(In, lambda u: entry_layout(u.spec))
    """Entry of the examined phase, a cycle later."""
    there = member(In, lambda u: u.spec.ports)
    """Ports with a packet of the examined phase at the head, a cycle later."""
    active = member(In, 1)
    """Whether something is served; see ``Service``."""
    online = member(In, 1)
    """Whether unicasts are served."""
    phase = member(In, lambda u: u.spec.protocol.fields["phase"])
    """The served phase."""
    claims = member(Out, lambda u: u.spec.protocol.phases + per_class(u))
    """One-hot: the phase of the packet, or after the phases the channel of a unicast."""
    holds = member(Out, per_class)
    """Channels on which only claims may be chosen."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("StarvationGuard", spec)
        protocol = spec.protocol
        self.unit_name = (
            f"starvation_guard_p{spec.ports}_f{protocol.phases}{protocol.channels.suffix}"
        )
        super().__init__()

    def build(self, m: Module) -> None:
        ports = self.spec.ports
        port = Signal(ports, init=1)
        circuit = Signal(per_class(self), init=1)
        online = Signal(name="of_unicast")
        phase = Signal.like(self.phase, name="head_phase")
        ends = Signal(ports)
        alone = Signal()
        early = Signal()
        head, looked = self._head(m, port, circuit), self._flow(m, port, phase)
        outputs = self._outputs(m, circuit, online)
        states = self._states(m, port, circuit)
        fsm, elapsed, enter, leave = states
        with fsm.state("seek"), m.If(elapsed[0]):  # the head is in this queue
            m.d.sync += [
                phase.eq(head.phase),
                online.eq(head.phase == self.spec.protocol.online),
                ends.eq(1 << head.exit),
                alone.eq(0),
                early.eq(1),
            ]
            with m.If(head.waiting):
                enter("watch")
            with m.Else():
                leave()
        late = elapsed == WATCH_CYCLES - 1
        soon = (elapsed == URGENT_CYCLES - 1) & early & outputs.less.any()
        with fsm.state("watch"):
            with m.If(head.anew):
                leave()
            with m.Elif(soon | late):
                m.d.sync += early.eq(~late)
                with m.If(online & head.waiting):
                    enter("judge")
                with m.Else():
                    enter("look")
        with fsm.state("look"):
            with m.If(looked.now):
                enter("judge")
                m.d.sync += [ends.eq(looked.ends), alone.eq(looked.alone)]
            with m.Elif(head.anew | late):
                leave()
        kept = self._reserve(m, states, _Watched(head.anew, ends, alone, early), outputs)
        with fsm.state("claim"), m.If(head.anew | (elapsed == CLAIM_CYCLES - 1)):
            leave()
        self._claim(m, fsm, circuit, phase, online, (kept, outputs.granted))

    def _reserve(self, m: Module, states: _States, watched: _Watched, outputs: _Outputs) -> Value:
        """Reserve space for the watched packet, if possible, until it can be claimed.

        Return the outputs whose space is reserved.
        """
        fsm, elapsed, enter, leave = states
        ends, early = watched.ends, watched.early
        full = Signal(len(ends))
        settled = Signal(range(SETTLE_CYCLES + 1))
        lacks = wire(m, "lacks", ends & ~outputs.vacant)
        took = Mux(early, outputs.less, outputs.took)
        hopeless = wire(m, "hopeless", watched.alone | (lacks & ~took).any())
        with fsm.state("judge"):
            m.d.sync += [full.eq(lacks), settled.eq(0), early.eq(0)]
            with m.If(~hopeless):
                enter("reserve")
            with m.Elif(early):
                enter("watch")
            with m.Else():
                leave()
        with fsm.state("reserve"):
            whole, done = full == ends, wire(m, "done", settled == SETTLE_CYCLES)
            settles = whole | (~done & ~(full & lacks).any())
            m.d.sync += settled.eq(Mux(settles, settled + ~done, 0))
            with m.If(done):
                m.d.sync += full.eq(full | lacks)
            with m.If(done & ~lacks.any()):
                enter("claim")
            with m.Elif(watched.anew | (done & hopeless) | (elapsed == RESERVE_CYCLES - 1)):
                leave()
        some = fsm.ongoing("reserve") & ~settled.any()
        return wire(m, "kept", Mux(some, full, ends))

    def _states(self, m: Module, port: Signal, circuit: Signal) -> _States:
        """Return the state machine, the time in its state, and functions to enter or leave."""
        fsm = Fsm(m, "seek", "watch", "look", "judge", "reserve", "claim")
        elapsed = Signal(range(RESERVE_CYCLES))
        m.d.sync += elapsed.eq(elapsed + 1)

        def enter(state: str) -> None:
            fsm.go(state)
            m.d.sync += elapsed.eq(0)

        def leave() -> None:
            enter("seek")
            m.d.sync += circuit.eq(circuit.rotate_left(1))
            with m.If(circuit[-1]):
                m.d.sync += port.eq(port.rotate_left(1))

        return _States(fsm, elapsed, enter, leave)

    def _head(self, m: Module, port: Signal, circuit: Signal) -> data.View:
        """Return the head of the watched queue, a cycle delayed."""
        layout = data.StructLayout(
            {"waiting": 1, "anew": 1, "phase": len(self.phase), "exit": port_bits(self.spec)}
        )
        head = Signal(layout)
        heads = [
            one_hot_mux(
                circuit,
                [
                    Cat(own.waiting[c], own.anew[c], own.phases[c], own.exits[c])
                    for c in range(per_class(self))
                ],
            )
            for own in self.ports
        ]
        m.d.sync += head.eq(one_hot_mux(port, heads))
        return head

    def _outputs(self, m: Module, circuit: Signal, online: Signal) -> _Outputs:
        """Return the state of outputs for the virtual channel."""
        names = ("vacant_now", "granted_now", "took", "less_urgent_took")
        vacant, granted, took, passed = (Signal(self.spec.ports, name=name) for name in names)
        for known, name in ((vacant, "vacant"), (granted, "granted")):
            spaces = (getattr(own, name) for own in self.ports)
            m.d.sync += known.eq(Cat((space & circuit).any() for space in spaces))
        unicasts = Signal(name="unicasts_started")
        age = Signal(range(RECENT_CYCLES))
        ages = Signal()
        m.d.sync += [unicasts.eq(self.online), age.eq(age + 1), ages.eq(age.all())]
        for k, own in enumerate(self.ports):
            seen: list[list[Value]] = []
            for kind, of_kind in (("flow", ~unicasts), ("unicast", unicasts)):
                # Packets of each virtual channel since the last change of ages, and the one before.
                new, old = (
                    Signal(per_class(self), name=f"{of}_{kind}_to_{k}") for of in ("new", "old")
                )
                starts = gated(
                    Cat(own.circuit == c for c in range(per_class(self))), own.starts & of_kind
                )
                m.d.sync += new.eq(starts | gated(new, ~ages))
                with m.If(ages):
                    m.d.sync += old.eq(new)
                seen.append([new[c] | old[c] for c in range(per_class(self))])
            of_flows, of_unicasts = seen
            same = any_of(
                [
                    circuit[c] & (of_flows[c] | (of_unicasts[c] & ~online))
                    for c in range(per_class(self))
                ]
            )
            less = any_of(
                [
                    circuit[c]
                    & any_of([of_flows[d] | of_unicasts[d] for d in range(c + 1, per_class(self))])
                    for c in range(per_class(self) - 1)
                ]
            )
            queued = less & granted[k]
            m.d.sync += [took[k].eq(same | queued), passed[k].eq(queued)]
        return _Outputs(vacant, granted, took, passed)

    def _flow(self, m: Module, port: Signal, phase: Signal) -> _Flow:
        """Return whether the phase is being probed, and the flow of the packet."""
        looks = Signal()
        looked = Signal.like(self.probe)
        m.d.sync += [looks.eq(self.probes), looked.eq(self.probe)]
        entry = self.probed
        own = wire(m, "own_flow", one_hot_mux(port, list(entry.inputs)))
        members, ends = (
            wire(m, name, Cat(flow == own for flow in flows))
            for name, flows in (("members", entry.inputs), ("flow_ends", entry.outputs))
        )
        # An entry that has changed meanwhile may have no flow for it.
        alone = (own == 0) | (members & ~self.there).any()
        return _Flow(looks & (looked == phase), ends, wire(m, "alone_now", alone))

    def _claim(
        self,
        m: Module,
        fsm: Fsm,
        circuit: Signal,
        phase: Signal,
        online: Signal,
        spaces: tuple[Value, Value],
    ) -> None:
        """Output the reservations and claims for the packet.

        Called with the outputs whose space is reserved, and those with space in the next receiver.
        """
        phases = self.spec.protocol.phases
        serves = Signal()
        keeps = Signal()
        claims = fsm.ongoing("claim")
        m.d.comb += [
            serves.eq(self.active & (self.online == online) & (online | (self.phase == phase))),
            keeps.eq(fsm.ongoing("reserve") | (claims & ~serves)),
        ]
        of_phase = gated((1 << phase)[:phases], ~online)
        # The virtual channel and less urgent ones.
        held = wire(m, "held", Cat(circuit[: c + 1].any() for c in range(per_class(self))))
        m.d.sync += [
            self.claims.eq(gated(Cat(of_phase, gated(circuit, online)), claims)),
            self.holds.eq(gated(held, claims)),
        ]
        for own, kept, granted in zip(self.ports, *spaces, strict=True):
            m.d.sync += own.reserved.eq(gated(circuit | gated(held, granted), keeps & kept))
