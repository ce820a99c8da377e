"""Scheduler: which phase the interconnect serves."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import one_hot_mux, round_robin
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .phase_watch import PhaseWatch

__all__ = ["Scheduler"]

COUNT = len(DATA_CIRCUITS)


class Scheduler(Unit):
    """Choose the phase to serve: one that is ready, by urgency, those of a circuit in turns.

    A flow is ready when every input in it has a packet at the head of the phase's circuit and
    every output has room for one, and a phase when a flow in it is. One in which all flows are is
    seen at once, others are looked at one after the other, two cycles later at the earliest.
    Packets of the default index are flows of their own, those of each circuit together as if they
    were a phase. While a phase is served, one of a more urgent circuit takes its place as soon as
    the packets under way have ended; so does one of the same circuit, once a packet has been
    served; others do when nothing is under way.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    waiting, room, reaches : In(3).array(P)
        For each port and circuit: a packet waits; its output has room; the output that it is for
        has, if it is of the default index.
    heads : In(3 phases).array(P)
        Phases of the packets that wait.
    write, number, entry_used, entry_circuit, entry_takes, entry_gives : In
        Change what is known of a phase.
    used, circuits, takes : Out
        For each phase whether there is one, its circuit, and the ports that it takes from.
    probe, probe_inputs, probe_outputs : Out, In, In
        Phase that is looked at, and a cycle later the flow of each port in it.
    runs, stands, ran : In(1)
        A packet goes on in the next cycle; none is under way or starts; one starts.
    leaving : Out(1)
        No packet may start.
    load, load_phase : Out
        Read the entry of that phase, which is served from the next cycle on.
    active, online, phase, circuit : Out
        What is served.
    preempts : Out(1)
        High with ``load`` for a more urgent phase than one whose packets end in this cycle.

    Timing
    ------
    Latency : 2 cycles from a packet that waits to its phase being served.
    Throughput : a phase per cycle.
    Paths : ``runs`` and ``stands`` to ``load``.
    Reset : forgets all phases.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol, ports = spec.protocol, spec.ports
        fields = protocol.fields(ports)
        number, flow = max(1, (protocol.phases - 1).bit_length()), ports.bit_length()
        self.unit_name = f"scheduler_p{ports}_f{protocol.phases}"
        super().__init__(
            {
                "waiting": In(COUNT).array(ports),
                "room": In(COUNT).array(ports),
                "reaches": In(COUNT).array(ports),
                "heads": In(data.ArrayLayout(fields["phase"], COUNT)).array(ports),
                "write": In(1),
                "number": In(number),
                "entry_used": In(1),
                "entry_circuit": In(2),
                "entry_takes": In(ports),
                "entry_gives": In(ports),
                "used": Out(protocol.phases),
                "circuits": Out(data.ArrayLayout(2, protocol.phases)),
                "takes": Out(data.ArrayLayout(ports, protocol.phases)),
                "probe": Out(number),
                "probe_inputs": In(data.ArrayLayout(flow, ports)),
                "probe_outputs": In(data.ArrayLayout(flow, ports)),
                "runs": In(1),
                "stands": In(1),
                "ran": In(1),
                "leaving": Out(1),
                "load": Out(1),
                "load_phase": Out(number),
                "active": Out(1),
                "online": Out(1),
                "phase": Out(fields["phase"]),
                "circuit": Out(2),
                "preempts": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        phases = self.spec.protocol.phases
        count = phases + COUNT  # and the default index once for each circuit
        served = Signal(count)  # one-hot
        ready, circuits = self._candidates(m, served)
        urgency = [Signal(count, name=f"ready_{name}") for name in DATA_CIRCUITS]
        for circuit, own in enumerate(urgency):
            mine = Cat(other == circuit for other in circuits)
            m.d.comb += own.eq(ready & mine & ~served)
        pool = Signal(count)
        for own in reversed(urgency):
            with m.If(own.any()):
                m.d.comb += pool.eq(own)
        recent = Signal(count)
        chosen = round_robin(m, "turn", pool, recent)
        urgent, equal, done = Signal(), Signal(), Signal()
        for circuit in range(COUNT):
            above = [own.any() for own in urgency[:circuit]]
            with m.If(self.circuit == circuit):
                m.d.comb += [urgent.eq(Cat(above).any()), equal.eq(urgency[circuit].any())]
        m.d.comb += [
            self.leaving.eq(self.active & (urgent | (equal & done))),
            self.load.eq(pool.any() & (~self.active | self.stands | (self.leaving & ~self.runs))),
            self.preempts.eq(self.load & self.leaving & urgent & ~self.stands),
            self.load_phase.eq(
                one_hot_mux(
                    chosen,
                    [Const(k if k < phases else 0, len(self.load_phase)) for k in range(count)],
                )
            ),
        ]
        m.d.sync += done.eq(done | self.ran)
        online = chosen[phases:].any()
        with m.If(self.load):
            m.d.sync += [
                self.active.eq(1),
                self.online.eq(online),
                self.circuit.eq(one_hot_mux(chosen, circuits)),
                self.phase.eq(
                    one_hot_mux(
                        chosen, [Const(min(k, phases), len(self.phase)) for k in range(count)]
                    )
                ),
                served.eq(chosen),
                recent.eq(chosen),
                done.eq(0),
            ]
        with m.Elif(self.write & (self.number == self.phase) & ~self.online):
            # What is served was read before it changed.
            m.d.sync += [self.active.eq(0), served.eq(0)]
        return m

    def _candidates(self, m: Module, served: Value) -> tuple[Value, list[Value]]:
        """Return what is ready, a cycle old, and the circuits."""
        phases = self.spec.protocol.phases
        complete, some = Signal(phases), Signal(phases)
        circuits: list[Value] = []
        theres, rooms = [], []
        for phase in range(phases):
            watch = place(m, f"phase_{phase}", PhaseWatch(spec=self.spec))
            m.d.comb += [
                watch.number.eq(phase),
                watch.write.eq(self.write & (self.number == phase)),
                *(
                    getattr(watch, f"entry_{name}").eq(getattr(self, f"entry_{name}"))
                    for name in ("used", "circuit", "takes", "gives")
                ),
                watch.waiting.eq(Cat(self.waiting)),
                watch.room.eq(Cat(self.room)),
                watch.heads.eq(Cat(head.as_value() for head in self.heads)),
                self.used[phase].eq(watch.used),
                self.circuits[phase].eq(watch.circuit),
                self.takes[phase].eq(watch.takes),
                complete[phase].eq(watch.complete),
                some[phase].eq(watch.some),
            ]
            circuits.append(watch.circuit)
            theres.append(watch.there)
            rooms.append(watch.free)
        online = Signal(COUNT)
        for c in range(COUNT):
            packets = Cat(
                w[c] & (head[c] == phases) & reaches[c]
                for w, head, reaches in zip(self.waiting, self.heads, self.reaches, strict=True)
            )
            m.d.sync += online[c].eq(packets.any())
            circuits.append(Const(c, 2))
        partly = self._probe(m, some, served, theres, rooms)
        return Cat(complete | partly, online), circuits

    def _probe(
        self,
        m: Module,
        some: Value,
        served: Value,
        theres: list[Value],
        rooms: list[Value],
    ) -> Signal:
        """Look at phases that have some packet; return which were seen to have a ready flow."""
        phases, ports = self.spec.protocol.phases, self.spec.ports
        looked, recent = Signal(phases), Signal(phases)
        m.d.comb += looked.eq(some & ~served[:phases])
        chosen = round_robin(m, "probe", looked, recent)
        numbers = [Const(k, len(self.probe)) for k in range(phases)]
        m.d.comb += self.probe.eq(one_hot_mux(chosen, numbers))
        m.d.sync += recent.eq(chosen)
        there, room, found = Signal(ports), Signal(ports), Signal()
        m.d.comb += [there.eq(one_hot_mux(recent, theres)), room.eq(one_hot_mux(recent, rooms))]
        ready = []
        for flow in range(1, ports + 1):
            members = Cat(own == flow for own in self.probe_inputs)
            ends = Cat(own == flow for own in self.probe_outputs)
            ready.append(members.any() & (there | ~members).all() & (room | ~ends).all())
        m.d.comb += found.eq(Cat(ready).any())
        partly = Signal(phases)
        m.d.sync += partly.eq(((partly & ~recent) | (recent & found.replicate(phases))) & looked)
        return partly
