"""Scheduler: which phase the interconnect serves."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import entry_layout, number_bits
from fred_hw.gates.select import one_hot_mux, round_robin
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


class Scheduler(Unit):
    """Choose the phase to serve: one that is ready, by urgency, those of a circuit round robin.

    A flow is ready when every input in it has a packet at the head of the phase's circuit and
    every output has room for one, and a phase when a flow in it is. One in which all flows are is
    seen at once, others are looked at one after the other, two cycles later at the earliest.
    Packets of the default index are flows of their own, those of each circuit together as if they
    were a phase. While a phase is served, one of a more urgent circuit takes its place as soon as
    the packets under way have ended; so does one of the same circuit, once a packet has been
    served; others do when nothing is under way. A phase that is about to change stands still first:
    flows go by the entry that was loaded, so it must not change under their packets.

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
    probe, probed : Out(number_bits(spec)), In(entry_layout(spec))
        Phase that is looked at, and a cycle later its entry.
    service : Out(service_signature(spec))
        What is served, and how it goes.
    load, load_phase : Out(1), Out(number_bits(spec))
        Read the entry of that phase, which is served from the next cycle on.
    preempts : Out(1)
        High with ``load`` for a more urgent phase than one whose packets end in this cycle.

    Timing
    ------
    Latency : 2 cycles from a packet that waits to its phase being served; 1 from ``halt.asked`` to
        ``halt.stands`` if the phase stands still.
    Throughput : a phase per cycle.
    Paths : ``service.runs`` and ``service.stands`` to ``load`` and ``preempts``.
    Reset : forgets all phases.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    ports: list[PortHints]
    update: PhaseUpdate
    halt: PhaseHalt
    probe: Signal
    probed: data.View
    service: Service
    load: Signal
    load_phase: Signal
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
                "probe": Out(number),
                "probed": In(entry_layout(spec)),
                "service": Out(service_signature(spec)),
                "load": Out(1),
                "load_phase": Out(number),
                "preempts": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        phases = self.spec.protocol.phases
        count = phases + COUNT  # and the default index once for each circuit
        served = Signal(count)  # one-hot
        watches = self._watches(m)
        stopped, halted = Signal(phases), Signal()
        m.d.sync += stopped.eq(self.halt.asked.replicate(phases) & (1 << self.halt.number))
        m.d.comb += [
            halted.eq((served[:phases] & stopped).any()),
            self.halt.stands.eq(stopped.any() & ~halted),
        ]
        partly = self._probe(m, watches, served[:phases] | stopped)
        known = Cat(watch.complete for watch in watches) | partly
        ready = Cat(known & ~stopped, self._unicasts(m))
        circuits = [*(watch.circuit for watch in watches), *(Const(c, 2) for c in range(COUNT))]
        urgency = [Signal(count, name=f"ready_{name}") for name in DATA_CIRCUITS]
        for circuit, own in enumerate(urgency):
            mine = Cat(other == circuit for other in circuits)
            m.d.comb += own.eq(ready & mine & ~served)
        pool = Signal(count)
        for own in reversed(urgency):
            with m.If(own.any()):
                m.d.comb += pool.eq(own)
        recent = Signal(count)
        chosen = round_robin(m, "grant", pool, recent)
        self._leave(m, urgency, pool, halted)
        m.d.comb += self.load_phase.eq(
            one_hot_mux(chosen, [Const(k if k < phases else 0) for k in range(count)])
        )
        service = self.service
        with m.If(self.load):
            m.d.sync += [
                service.active.eq(1),
                service.online.eq(chosen[phases:].any()),
                service.circuit.eq(one_hot_mux(chosen, circuits)),
                service.phase.eq(
                    one_hot_mux(chosen, [Const(min(k, phases)) for k in range(count)])
                ),
                served.eq(chosen),
                recent.eq(chosen),
            ]
        with m.Elif(halted & service.stands):
            m.d.sync += [service.active.eq(0), served.eq(0)]
        return m

    def _leave(self, m: Module, urgency: Sequence[Value], pool: Value, halted: Value) -> None:
        """Say when what is served gives way, and when another phase takes its place."""
        service = self.service
        urgent, equal, done = Signal(), Signal(), Signal()
        for circuit, own in enumerate(urgency):
            above = [other.any() for other in urgency[:circuit]]
            with m.If(service.circuit == circuit):
                m.d.comb += [urgent.eq(Cat(above).any()), equal.eq(own.any())]
        m.d.comb += [
            service.leaving.eq(service.active & (urgent | halted | (equal & done))),
            self.load.eq(
                pool.any() & (~service.active | service.stands | (service.leaving & ~service.runs))
            ),
            self.preempts.eq(self.load & service.leaving & urgent & ~service.stands),
        ]
        m.d.sync += done.eq((done | service.ran) & ~self.load)

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
        m.d.comb += self.probe.eq(one_hot_mux(chosen, [Const(k) for k in range(phases)]))
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
