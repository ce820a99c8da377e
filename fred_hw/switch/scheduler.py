"""Scheduler: which phase the interconnect serves."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import entry_layout, number_bits
from fred_hw.gates.select import one_hot_mux, round_robin, selected
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place

from .phase_watch import PhaseWatch
from .scheduler_signatures import (
    PhaseHalt,
    PhaseUpdate,
    PortHints,
    Service,
    phase_halt_signature,
    phase_update_signature,
    port_hints_signature,
    service_signature,
)

__all__ = ["Scheduler"]

COUNT = len(DATA_CIRCUITS)
SEEK_CYCLES = 4
"""Cycles in which nothing is under way before unicasts that are ready give way to others."""


class Scheduler(Unit):
    """Choose the phase to serve: one that is ready, by urgency, those of a circuit round robin.

    A flow is ready when every input in it has a packet at the head of the phase's circuit and
    every output has room for one, and a phase when a flow in it is. One in which all flows are is
    seen at once, others are looked at one after the other, two cycles later at the earliest.
    Packets of the default index are flows of their own, those of each circuit together as if they
    were a phase, but those of all circuits are served together: what is served is then as urgent as
    the most urgent of them that is ready or under way. While a phase is served, one of a more
    urgent circuit takes its place as soon as the packets under way have ended; so does one of the
    same circuit, once a packet has been served on it; others do when nothing was under way or
    about to start for a cycle, the default index keeping its place for ``SEEK_CYCLES`` before that.
    One that another gives way to is served though it may not be ready any more, as the other took
    the room, unless a more urgent one is. A phase that is about to change stands still first: flows
    go by the entry that was loaded, so it must not change under their packets.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    ports : In(port_hints_signature(spec)).array(P)
        What waits at each port, and what has room.
    update : In(phase_update_signature(spec))
        Changes of phases; only while the phase stands still.
    halt : In(phase_halt_signature(spec))
        Makes a phase stand still.
    probes, probe, probed : Out(1), Out(number_bits(spec)), In(entry_layout(spec))
        Whether a phase is looked at, which, and a cycle later its entry.
    service : Out(service_signature(spec))
        What is served, and how it goes.
    read, next_phase : Out(1), Out(number_bits(spec))
        Read the entry of that phase, which is there with ``service.load``, if that comes; 0 for the
        default index.
    preempts : Out(1)
        High with ``service.load`` for a more urgent phase than one whose packets end in this cycle.

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

    ports: list[PortHints]
    update: PhaseUpdate
    halt: PhaseHalt
    probes: Signal
    probe: Signal
    probed: data.View
    service: Service
    read: Signal
    next_phase: Signal
    preempts: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Scheduler", spec)
        self.unit_name = f"scheduler_p{spec.ports}_f{spec.protocol.phases}"
        number = number_bits(spec)
        super().__init__(
            {
                "ports": In(port_hints_signature(spec)).array(spec.ports),
                "update": In(phase_update_signature(spec)),
                "halt": In(phase_halt_signature(spec)),
                "probes": Out(1),
                "probe": Out(number),
                "probed": In(entry_layout(spec)),
                "service": Out(service_signature(spec)),
                "read": Out(1),
                "next_phase": Out(number),
                "preempts": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        phases = self.spec.protocol.phases
        count = phases + COUNT  # and the default index once for each circuit
        served, following = Signal(count), Signal(count)  # one-hot: now, and next
        watches = self._watches(m)
        stopped, stops, halted = Signal(phases), Signal(phases), Signal()
        m.d.sync += stopped.eq(stops)
        m.d.comb += [
            stops.eq(self.halt.asked.replicate(phases) & (1 << self.halt.number)),
            halted.eq((served[:phases] & stopped).any()),
            self.halt.stands.eq(stopped.any() & ~halted),
        ]
        partly = self._probe(m, watches, served[:phases] | stopped)
        known = Cat(watch.complete for watch in watches) | partly
        unicasts = self._unicasts(m)
        ready = Cat(known & ~stopped, unicasts) & ~served
        circuits = [*(watch.circuit for watch in watches), *(Const(c, 2) for c in range(COUNT))]
        service = self.service
        keeps, circuit, behind = Signal(), Signal(2), Signal(COUNT)
        chosen, hurry = self._choose(m, ready, circuits, following, (circuit, behind), keeps)
        valid = Signal()  # what follows is there, and need not stand still
        online = following[phases:].any()
        self._leave(m, valid, (circuit, behind), halted, online, unicasts)
        m.d.comb += [
            # What is served takes the room that the next one waits for, which gets its turn.
            keeps.eq(valid & service.leaving & ~hurry),
            self.read.eq(chosen.any() & ~keeps),
            self.next_phase.eq(
                one_hot_mux(chosen, [Const(k if k < phases else 0) for k in range(count)])
            ),
        ]
        with m.If(service.load):
            m.d.sync += [
                service.active.eq(1),
                service.online.eq(online),
                service.circuit.eq(circuit),
                service.phase.eq(service.following),
                # Unicasts of all circuits are served together.
                served.eq(following | Mux(online, (1 << count) - (1 << phases), 0)),
                # What was chosen before what is served was known may be the same.
                following.eq(0),
                valid.eq(0),
            ]
        with m.Else():
            # It may have to stand still from the next cycle on.
            free = Cat(~stops, ~Const(0, COUNT))
            stays, goes = following & free, chosen & free
            with m.If(keeps):
                m.d.sync += valid.eq(stays.any())
            with m.Else():
                number = one_hot_mux(chosen, [Const(min(k, phases)) for k in range(count)])
                m.d.sync += [following.eq(chosen), service.following.eq(number)]
                m.d.sync += valid.eq(goes.any())
            with m.If(halted & service.stands):
                m.d.sync += [service.active.eq(0), served.eq(0)]
        return m

    def _choose(
        self,
        m: Module,
        ready: Value,
        circuits: Sequence[Value],
        following: Value,
        kept: tuple[Signal, Signal],
        keeps: Value,
    ) -> tuple[Signal, Value]:
        """Choose what goes first, and keep its circuit, and those that are more urgent.

        Return it, and whether something more urgent is ready than what was chosen before.
        """
        pool, recent, found = Signal(len(ready)), Signal(len(ready)), []
        circuit, behind = kept
        for number, name in reversed(list(enumerate(DATA_CIRCUITS))):
            own, before = (Signal(len(ready), name=f"{what}_{name}") for what in ("ready", "last"))
            m.d.comb += own.eq(ready & Cat(other == number for other in circuits))
            with m.If(own.any()):
                m.d.comb += [pool.eq(own), recent.eq(before)]
                with m.If(~keeps):
                    m.d.sync += [circuit.eq(number), behind.eq((1 << number) - 1)]
            found.append(own.any() & (circuit > number))
            with m.If(self.service.load & (circuit == number)):
                m.d.sync += before.eq(following)
        return round_robin(m, "grant", pool, recent), Cat(found).any()

    def _leave(
        self,
        m: Module,
        valid: Value,
        kept: tuple[Value, Value],
        halted: Value,
        online: Value,
        unicasts: Value,
    ) -> None:
        """Say when what is served gives way, and when what follows takes its place."""
        service, urgent, wants = self.service, Signal(), Signal(COUNT)
        done, under, seeks = Signal(COUNT), Signal(COUNT), Signal(range(SEEK_CYCLES + 1))
        idle, own = Signal(), Signal(COUNT, init=1)
        circuit, behind = kept
        with m.If(service.load):
            m.d.sync += own.eq(1 << circuit)
        # What starts is known late, and counts a cycle later.
        m.d.sync += [
            under.eq(service.under),
            idle.eq(service.rests & (seeks <= 1) & ~service.load),
        ]
        m.d.comb += [
            # The circuits on which packets of what is served go, or would.
            wants.eq(Mux(service.online, unicasts | under, own)),
            urgent.eq(valid & ((wants & Cat(1, behind[:-1])) == 0)),
            service.leaving.eq(
                service.active
                & (
                    urgent
                    | halted
                    | (valid & idle)
                    | (valid & ((wants & behind) == 0) & selected(circuit, list(done)))
                )
            ),
            service.load.eq(valid & (~service.active | idle | (service.leaving & ~service.runs))),
            self.preempts.eq(service.load & service.leaving & urgent & ~service.stands),
        ]
        m.d.sync += done.eq(Mux(service.load, 0, done | service.ran))
        with m.If(service.load):
            m.d.sync += seeks.eq(Mux(online, SEEK_CYCLES, 0))
        with m.Elif(service.online & service.ran.any()):
            m.d.sync += seeks.eq(SEEK_CYCLES)
        with m.Elif(seeks != 0):
            m.d.sync += seeks.eq(seeks - 1)

    def _watches(self, m: Module) -> list[PhaseWatch]:
        """Watch each phase, and tell ports which ones take packets from them."""
        phases = self.spec.protocol.phases
        watches = [place(m, f"phase_{n}", PhaseWatch(spec=self.spec)) for n in range(phases)]
        for number, watch in enumerate(watches):
            wiring.connect(m, wiring.flipped(self.update), watch.update)
            m.d.comb += [
                watch.number.eq(number),
                watch.waiting.eq(Cat(port.waiting for port in self.ports)),
                watch.room.eq(Cat(port.room for port in self.ports)),
                watch.heads.eq(Cat(port.phases for port in self.ports)),
            ]
        for k, port in enumerate(self.ports):
            for circuit in range(COUNT):
                m.d.comb += port.serves[circuit].eq(
                    Cat(w.used & w.takes[k] & (w.circuit == circuit) for w in watches)
                )
        return watches

    def _unicasts(self, m: Module) -> Signal:
        """Return for each circuit whether a packet of the default index is ready, a cycle old."""
        ready = Signal(COUNT, name="online_ready")
        for c in range(COUNT):
            packets = Cat(
                port.waiting[c] & (port.phases[c] == self.spec.protocol.online) & port.reaches[c]
                for port in self.ports
            )
            m.d.sync += ready[c].eq(packets.any())
        return ready

    def _probe(self, m: Module, watches: Sequence[PhaseWatch], others: Value) -> Signal:
        """Look at phases that have some packet but for others; return which have a ready flow."""
        phases, ports = self.spec.protocol.phases, self.spec.ports
        looked, recent = Signal(phases), Signal(phases)
        m.d.comb += looked.eq(Cat(watch.some for watch in watches) & ~others)
        chosen = round_robin(m, "probe", looked, recent)
        m.d.comb += [
            self.probes.eq(looked.any()),
            self.probe.eq(one_hot_mux(chosen, [Const(k) for k in range(phases)])),
        ]
        m.d.sync += recent.eq(chosen)
        there, room, found = Signal(ports), Signal(ports), Signal()
        m.d.comb += [
            there.eq(one_hot_mux(recent, [watch.there for watch in watches])),
            room.eq(one_hot_mux(recent, [watch.free for watch in watches])),
        ]
        ready = []
        for flow in range(1, ports + 1):
            members = Cat(own == flow for own in self.probed.inputs)
            ends = Cat(own == flow for own in self.probed.outputs)
            ready.append(members.any() & (there | ~members).all() & (room | ~ends).all())
        m.d.comb += found.eq(Cat(ready).any())
        partly = Signal(phases)
        m.d.sync += partly.eq(((partly & ~recent) | (recent & found.replicate(phases))) & looked)
        return partly
