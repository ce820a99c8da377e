"""Scheduler: selects the phase that the interconnect serves."""

from collections.abc import Sequence
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import entry_layout, number_bits
from fred_hw.gates.select import any_of, decoded, gated, next_grant, one_hot_mux
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.per_class import channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place
from fred_hw.virtual_channels import CLASS_BITS

from .phase_watch import PhaseWatch
from .scheduler_signatures import PhaseHalt, PhaseUpdate, PortHints, Service

__all__ = ["Scheduler"]

SEEK_CYCLES = 4
"""Idle cycles after which ready unicasts give way to others."""
LATE_CYCLES = 64
"""Cycles that others wait while unicasts are served, before unicasts give way when idle."""


class _Following(NamedTuple):
    """The next phase, if ``valid``, and the virtual channels with ready unicasts.

    Its channel is one-hot; ``online`` is high for unicasts.
    """

    valid: Value
    circuit: Value
    online: Value
    unicasts: Value


class _Halts(NamedTuple):
    """Whether the served phase must stop, in the next cycle, and if another is loaded.

    ``ends`` : it stands still, and is served no more.
    """

    now: Value
    then: Value
    loaded: Value
    ends: Value


class Scheduler(Unit):
    """Choose the phase to serve: a ready one, by urgency, round-robin in a virtual channel.

    A flow is ready when each of its inputs has a packet at the head of the phase's virtual channel
    and each of its outputs has space for one; a phase is ready when one of its flows is. A phase
    with all flows ready is seen at once; other phases are examined one after the other, two cycles
    later at the earliest. Unicasts are flows of their own. Those of each
    channel together count as a phase, but all channels are served together: they are then as urgent
    as their most urgent packet that is ready or being sent. A served phase is replaced by a phase
    on a more urgent channel as soon as the packets being sent have ended, and by one on the same
    channel once a packet has been served on it. Others replace it when nothing was being sent or
    about to start for a cycle; unicasts stay served for ``SEEK_CYCLES`` before that, though
    not once something has waited for ``LATE_CYCLES``. A phase that another one yields to is served
    even if it is no longer ready because the other took the space, unless a more urgent one is
    ready. A phase that is about to change is halted first: flows use the entry that was loaded, so
    it must not change while their packets are sent.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 3 cycles from a packet that waits to its phase being served, 5 if it is looked at, 4
        from ``update.write``, one more if something is loaded in the cycle of its choice; 1 from
        ``halt.asked`` to ``halt.stands`` if the phase is not served in the next cycle, else 1 from
        ``service.stands``.
    Throughput : a phase in 2 cycles.
    Paths : ``service.runs`` to ``service.load``, ``service.runs`` and ``service.stands`` to
        ``preempts``.
    Reset : forgets all phases.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    ports: list[PortHints] = member(
        In, lambda u: PortHints.signature(u.spec), array=lambda u: u.spec.ports
    )
    """Packets that wait at each port, and available space."""
    update: PhaseUpdate = member(In, lambda u: PhaseUpdate.signature(u.spec))
    """Changes of phases; only while the phase is halted."""
    halt: PhaseHalt = member(In, lambda u: PhaseHalt.signature(u.spec))
    """Halts a phase."""
    probes = member(Out, 1)
    """Whether a phase is examined."""
    probe = member(Out, lambda u: number_bits(u.spec))
    """The examined phase."""
    probed: data.View = member(In, lambda u: entry_layout(u.spec))
    """Entry of the examined phase, a cycle later."""
    there = member(Out, lambda u: u.spec.ports)
    """Ports with a packet of that phase at the head of its channel, with ``probed``."""
    claims = member(In, lambda u: u.spec.protocol.phases + per_class(u))
    """Phases that count as ready regardless of space; see ``StarvationGuard``."""
    holds = member(In, per_class)
    """Channels on which nothing else may be chosen; see ``StarvationGuard``."""
    service: Service = member(Out, lambda u: Service.signature(u.spec))
    """The served phase, and its state."""
    read = member(Out, 1)
    """Read the entry of ``next_phase``, which is available with ``service.load``, if that rises."""
    next_phase = member(Out, lambda u: number_bits(u.spec))
    """The phase that is read; 0 for unicasts."""
    preempts = member(Out, 1)
    """High with ``service.load`` for a more urgent phase than one whose packets end in this
    cycle."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Scheduler", spec)
        self.unit_name = (
            f"scheduler_p{spec.ports}_f{spec.protocol.phases}{spec.protocol.channels.suffix}"
        )
        super().__init__()

    def build(self, m: Module) -> None:
        phases = self.spec.protocol.phases
        count = phases + per_class(self)  # and one for the unicasts of each virtual channel
        # one-hot: served now, and next
        served, following = (Signal(count, name=name) for name in ("served", "following"))
        watches = self._watches(m)
        stopped, stops = (Signal(phases, name=name) for name in ("stopped", "stops"))
        halted = Signal()
        m.d.sync += stopped.eq(stops)
        m.d.comb += [
            stops.eq(self.halt.asked.replicate(phases) & (1 << self.halt.number)),
            self.halt.stands.eq(stopped.any() & ~halted),
        ]
        partly = self._probe(m, watches, served[:phases] | stopped)
        known = Cat(watch.complete for watch in watches) | partly
        unicasts, packets = Signal(per_class(self), name="online_ready"), self._unicasts(m)
        m.d.sync += unicasts.eq(packets)
        ready = Cat(known & ~stopped, unicasts) & ~served
        classes = [Const(c, CLASS_BITS) for c in range(per_class(self))]
        circuits = [*(one.circuit for one in watches), *classes]
        service, online = self.service, following[phases:].any()
        keeps, valid = (Signal(name=name) for name in ("keeps", "valid"))
        circuit = Signal(per_class(self))
        chosen, taken, hurry = self._choose(m, ready, circuits, circuit, keeps)
        # A phase may be halted from the next cycle on.
        free = Cat(~stops, ~Const(0, per_class(self)))
        stays, goes = following & free, chosen & free
        now = _Following(valid, circuit, online, unicasts)
        then = _Following(
            wire(m, "valid_then", Mux(keeps, stays.any(), goes.any())),
            wire(m, "circuit_then", Mux(keeps, circuit, taken)),
            online,
            packets,
        )
        halts = _Halts(
            halted,
            wire(m, "halted_then", (served[:phases] & stops).any()),
            wire(m, "halted_loaded", (following[:phases] & stops).any()),
            wire(m, "ends", halted & service.stands),
        )
        m.d.sync += halted.eq(Mux(service.load, halts.loaded, halts.then & ~halts.ends))
        self._leave(m, now, then, halts)
        m.d.comb += [
            # The served phase uses buffer space for which the next one waits, so it is replaced.
            keeps.eq(valid & service.leaving & ~hurry),
            self.read.eq(ready.any() & ~keeps),
            self.next_phase.eq(
                one_hot_mux(chosen, [Const(k if k < phases else 0) for k in range(count)])
            ),
        ]
        m.d.sync += [circuit.eq(then.circuit), valid.eq(then.valid & ~service.load)]
        with m.If(service.load):
            # The choice was made before the served phase was known, and may be the same.
            m.d.sync += [served.eq(self._loaded(following)), following.eq(0)]
        with m.Else():
            with m.If(~keeps):
                number = one_hot_mux(chosen, [Const(min(k, phases)) for k in range(count)])
                m.d.sync += [following.eq(chosen), service.following.eq(number)]
            with m.If(halts.ends):
                m.d.sync += served.eq(0)

    def _loaded(self, following: Signal) -> Value:
        """Return what is served after a load: unicasts of all virtual channels are together."""
        phases = self.spec.protocol.phases
        online = following[phases:].any()
        return following | Mux(online, (1 << len(following)) - (1 << phases), 0)

    def _choose(
        self, m: Module, ready: Value, circuits: Sequence[Value], circuit: Value, keeps: Value
    ) -> tuple[Value, Value, Value]:
        """Choose the next phase round-robin, and store the position.

        Return it, its channel (one-hot), and whether something more urgent is ready than the
        earlier choice, of ``circuit``. Arbitration of all channels happens in parallel, and the
        most urgent result is taken.
        """
        chosen, later, found, none = [], [], [], Const(1, 1)
        behind = Signal(len(ready), name="behind_following")
        taken = Signal(per_class(self))
        for number, name in enumerate(channels_of(self).names):
            own, before = (
                Signal(len(ready), name=f"{what}_{name}") for what in ("ready", "behind")
            )
            may = ~self.holds[number].replicate(len(ready)) | self.claims
            m.d.comb += own.eq(ready & Cat(other == number for other in circuits) & may)
            some = wire(m, f"some_{name}", own.any())
            grant = next_grant(m, f"grant_{name}", own, before)
            m.d.comb += taken[number].eq(some & none)
            chosen.append(gated(grant.chosen, taken[number]))
            later.append(gated(grant.behind, taken[number]))
            found.append(some & circuit[number + 1 :].any())
            none = none & ~some
            with m.If(self.service.load & circuit[number]):
                m.d.sync += before.eq(behind)
        with m.If(~keeps):
            m.d.sync += behind.eq(any_of(later))
        return wire(m, "chosen", any_of(chosen)), taken, Cat(found).any()

    def _leave(self, m: Module, now: _Following, then: _Following, halts: _Halts) -> None:
        """Determine when service ends, a cycle early, and when the next phase is served."""
        service = self.service
        done = Signal(per_class(self))
        under = Signal(per_class(self))
        seeks = Signal(range(SEEK_CYCLES + 1))
        idle = Signal()
        idles = Signal()
        gone = Signal()
        waited = Signal(range(LATE_CYCLES))
        late = Signal()
        # A start settles late, and counts a cycle later.
        m.d.comb += [
            idles.eq(service.rests & (seeks <= 1)),
            gone.eq(service.leaving & ~service.runs),
            service.load.eq(now.valid & (~service.active | idle | gone)),
        ]
        m.d.sync += [under.eq(service.under), idle.eq(idles & ~service.load)]
        # The virtual channels that packets of the served phase use, or would use.
        wants, wanted = (
            wire(m, name, Mux(service.online, one.unicasts | goes, service.circuit))
            for name, one, goes in (("wants", now, under), ("wanted", then, service.under))
        )
        ran = wire(m, "ran", done | service.ran)
        # It yields to more urgent packets, and to equally urgent ones once it has run.
        urgent = Cat(~wants[: c + 1].any() for c in range(per_class(self)))
        gives = Cat(~wanted[:c].any() & (~wanted[c] | ran[c]) for c in range(per_class(self)))
        preempts = service.load & service.leaving & (now.circuit & urgent).any()
        m.d.comb += self.preempts.eq(preempts & ~service.stands)
        with m.If(service.load):
            m.d.sync += [
                service.active.eq(1),
                service.online.eq(now.online),
                service.circuit.eq(now.circuit),
                service.phase.eq(service.following),
                service.leaving.eq(halts.loaded),
                done.eq(0),
                seeks.eq(Mux(now.online, SEEK_CYCLES, 0)),
                waited.eq(0),
                late.eq(0),
            ]
        with m.Else():
            # Unicasts that leave keep leaving: new ones would otherwise keep every phase out.
            goes_on = service.leaving & service.online
            urges = idles | goes_on | (then.circuit & gives).any()
            leaves = halts.then | (then.valid & urges)
            stays = service.active & ~halts.ends
            m.d.sync += [service.leaving.eq(stays & leaves), service.active.eq(stays), done.eq(ran)]
            with m.If(now.valid):
                m.d.sync += [waited.eq(waited + 1), late.eq(late | waited.all())]
            with m.If(service.online & service.ran.any() & ~late):
                m.d.sync += seeks.eq(SEEK_CYCLES)
            with m.Elif(seeks != 0):
                m.d.sync += seeks.eq(seeks - 1)

    def _watches(self, m: Module) -> list[PhaseWatch]:
        """Watch each phase, and tell ports which phases take packets from them."""
        phases = self.spec.protocol.phases
        watches = [place(m, f"phase_{n}", PhaseWatch(spec=self.spec)) for n in range(phases)]
        for number, watch in enumerate(watches):
            wiring.connect(m, wiring.flipped(self.update), watch.update)
            m.d.comb += [
                watch.number.eq(number),
                watch.waiting.eq(Cat(port.waiting for port in self.ports)),
                watch.space.eq(Cat(port.space for port in self.ports)),
                watch.heads.eq(Cat(port.phases for port in self.ports)),
            ]
        for circuit, name in enumerate(channels_of(self).names):
            takes = [
                wire(m, f"takes_{name}_{n}", gated(w.takes, w.used & (w.circuit == circuit)))
                for n, w in enumerate(watches)
            ]
            for k, port in enumerate(self.ports):
                m.d.comb += port.serves[circuit].eq(Cat(own[k] for own in takes))
        return watches

    def _unicasts(self, m: Module) -> Signal:
        """Return, for each virtual channel, whether a unicast is ready."""
        ready = Signal(per_class(self), name="online_packets")
        for c in range(per_class(self)):
            packets = Cat(
                port.waiting[c] & (port.phases[c] == self.spec.protocol.online) & port.reaches[c]
                for port in self.ports
            )
            m.d.comb += ready[c].eq(packets.any() | self.claims[self.spec.protocol.phases + c])
        return ready

    def _probe(self, m: Module, watches: Sequence[PhaseWatch], others: Value) -> Signal:
        """Probe phases that lack only other packets; return which have a ready flow."""
        phases, ports = self.spec.protocol.phases, self.spec.ports
        looked = Signal(phases)
        recent = Signal(phases)
        behind = Signal(phases)
        m.d.comb += looked.eq(Cat(watch.some for watch in watches) & ~others)
        chosen, later = next_grant(m, "probe", looked, behind)
        m.d.comb += [
            self.probes.eq(looked.any()),
            self.probe.eq(one_hot_mux(chosen, [Const(k) for k in range(phases)])),
        ]
        m.d.sync += [recent.eq(chosen), behind.eq(later)]
        there = self.there
        space = Signal(ports)
        found = Signal()
        m.d.comb += [
            there.eq(one_hot_mux(recent, [watch.there for watch in watches])),
            space.eq(one_hot_mux(recent, [watch.free for watch in watches])),
        ]
        inputs, outputs = (
            [wire(m, f"{name}_{k}", decoded(own, ports + 1)) for k, own in enumerate(flows)]
            for name, flows in (("in_flow", self.probed.inputs), ("out_flow", self.probed.outputs))
        )
        ready = []
        for flow in range(1, ports + 1):
            members, ends = (Cat(own[flow] for own in flows) for flows in (inputs, outputs))
            ready.append(members.any() & (there | ~members).all() & (space | ~ends).all())
        m.d.comb += found.eq(Cat(ready).any())
        partly = Signal(phases)
        flows = (partly & ~recent) | (recent & found.replicate(phases))
        m.d.sync += partly.eq((flows | self.claims[:phases]) & looked)
        return partly
