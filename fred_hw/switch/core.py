"""The switch core: ports, scheduler and configuration memory around an interconnect."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import EntryPort
from fred_hw.control.events import Counts, Errors
from fred_hw.control.routes import routes_layout
from fred_hw.control.switch_map import COUNTERS, PORT_CAUSES, PORT_COUNTERS
from fred_hw.datapath.flit import FlitNetwork
from fred_hw.datapath.network import network, network_latency_cycles
from fred_hw.gates.select import any_of
from fred_hw.link.flit import LinkFlit, framed_signature
from fred_hw.link.session import Session, join_session
from fred_hw.member import member
from fred_hw.per_class import channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.switch.ports.input_port import InputPort
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.unit import Unit, place

from .acknowledger import Acknowledger
from .dispatcher import Dispatcher
from .phase_table import PhaseTable
from .scheduler import Scheduler
from .starvation_guard import StarvationGuard

__all__ = ["READ_CYCLES", "SwitchCore"]

READ_CYCLES = 2
"""Cycles from accepting a flit to the flit at the interconnect: memory read and register."""


class SwitchCore(Unit):
    """Carry packets of flows between ports, phase by phase.

    A phase is a set of flows that the interconnect carries at once. A flow starts a packet when all
    of its inputs have it at the head of the phase's virtual channel and all of its outputs have
    space for all of it; then a flit is sent whenever all inputs have one. All inputs must have the
    packet with the expected number, so a reduction only adds flits with the same index, of packets
    with the same number. The scheduler chooses the phase to be served. Unicasts
    take paths that are found as they arrive, to the port that is the route of their address.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Timing
    ------
    Latency : 10 cycles and those of the interconnect, from the first flit of a lone packet on a
        port to the same flit offered.
    Throughput : one flit per port and cycle, without a gap between packets but for unicasts of one
        flit from a source to different destinations, which go in every other cycle.
    Paths : none.
    Reset : forgets all packets and phases.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    i: list[LinkFlit] = member(
        In, lambda u: LinkFlit.signature(u.spec), array=lambda u: u.spec.ports
    )
    """Packets from the ports."""
    o: list[stream.Interface] = member(
        Out, lambda u: framed_signature(u.spec), array=lambda u: u.spec.ports
    )
    """Packets to the ports."""
    links: list[Session] = member(In, Session.signature(), array=lambda u: u.spec.ports)
    """Sessions of the links."""
    table: EntryPort = member(In, lambda u: EntryPort.signature(u.spec))
    """Writes the entry of a phase, which exists from then on. Its packet numbers restart at 0, and
    packets of another generation are dropped. All other phases continue."""
    routes: data.View = member(In, lambda u: routes_layout(u.spec))
    """Port by which unicasts leave, for each address; written by software."""
    active = member(Out, 1)
    """Whether a phase is served."""
    phase = member(Out, lambda u: u.spec.protocol.fields["phase"])
    """The served phase."""
    counts: wiring.PureInterface = member(Out, lambda u: Counts.signature(u.spec))
    """Events for counters."""
    errors: wiring.PureInterface = member(Out, lambda u: Errors.signature(u.spec))
    """Errors of ports."""
    queued = member(Out, lambda u: u.spec.protocol.phases)
    """Phases with a packet in a queue of an input port."""
    unicasts = member(Out, lambda u: u.spec.ports)
    """Input ports with a queued unicast."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("SwitchCore", spec)
        self.unit_name = f"{spec.name}_core_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        spec = self.spec
        latency = network_latency_cycles(spec) + READ_CYCLES
        ins = [place(m, f"input_{k}", InputPort(spec=spec)) for k in range(spec.ports)]
        outs = [
            place(m, f"output_{k}", OutputPort(spec=spec, latency=latency, guarded=True))
            for k in range(spec.ports)
        ]
        scheduler = place(m, "scheduler", Scheduler(spec=spec))
        table = place(m, "phase_table", PhaseTable(spec=spec, readers=3))
        dispatcher = place(m, "dispatcher", Dispatcher(spec=spec))
        interconnect = place(m, "crossing", network(spec))
        wiring.connect(m, wiring.flipped(self.table), table.control)
        wiring.connect(m, table.update, scheduler.update)
        wiring.connect(m, table.halt, scheduler.halt)
        wiring.connect(m, scheduler.service, dispatcher.service)
        served, probed = table.reads[:2]
        m.d.comb += [
            served.number.eq(scheduler.next_phase),
            served.enable.eq(scheduler.read),
            dispatcher.entry.eq(served.entry),
            probed.number.eq(scheduler.probe),
            probed.enable.eq(scheduler.probes),
            scheduler.probed.eq(probed.entry),
        ]
        self._govern(m, dispatcher, interconnect)
        for k, (port, out) in enumerate(zip(ins, outs, strict=True)):
            wiring.connect(m, wiring.flipped(self.i[k]), port.i)
            wiring.connect(m, port.head, dispatcher.heads[k])
            wiring.connect(m, port.flit, interconnect.i[k])
            m.d.comb += [port.changed.eq(table.update.write), port.routes.eq(self.routes)]
            m.d.comb += [
                port.served.eq(scheduler.service.phase),
                port.following.eq(scheduler.service.following),
                port.load.eq(scheduler.service.load),
            ]
            wiring.connect(m, dispatcher.injections[k], out.injection)
            wiring.connect(m, interconnect.o[k], out.i)
            wiring.connect(m, out.o, wiring.flipped(self.o[k]))
            join_session(m, wiring.flipped(self.links[k]), port, out)
        self._hint(m, scheduler, ins, outs)
        self._guard(m, scheduler, ins, outs)
        acknowledger = self._acknowledge(m, table, dispatcher, ins, outs)
        self._report(m, scheduler, dispatcher, acknowledger, ins, outs)

    def _govern(self, m: Module, dispatcher: Dispatcher, interconnect: FlitNetwork) -> None:
        """Delay the configuration word so that it arrives with its flits."""
        word: Value = dispatcher.configuration
        for cycle in range(1, READ_CYCLES):
            register = Signal(len(word), name=f"configuration_q{cycle + 1}", reset_less=True)
            m.d.sync += register.eq(word)
            word = register
        m.d.comb += interconnect.configuration.eq(word)

    def _hint(
        self, m: Module, scheduler: Scheduler, ins: list[InputPort], outs: list[OutputPort]
    ) -> None:
        """Report waiting packets to the scheduler, and the served phases to the ports."""
        # Flows use buffer space in the same cycle; the scheduler, which is large, a cycle later.
        spaces = [Signal(self.spec.ports, name=f"space_{name}") for name in channels_of(self).names]
        for circuit, space in enumerate(spaces):
            m.d.sync += space.eq(Cat(out.injection.space[circuit] for out in outs))
        for k, (hints, port) in enumerate(zip(scheduler.ports, ins, strict=True)):
            m.d.comb += [
                hints.waiting.eq(port.head.waiting),
                port.serves.eq(hints.serves),
                hints.space.eq(Cat(space[k] for space in spaces)),
            ]
            for circuit, space in enumerate(spaces):
                descriptor, exits = port.head.descriptor[circuit], port.head.exits[circuit]
                m.d.comb += [
                    hints.phases[circuit].eq(descriptor.phase),
                    hints.reaches[circuit].eq(space.bit_select(exits, 1)),
                ]

    def _guard(
        self, m: Module, scheduler: Scheduler, ins: list[InputPort], outs: list[OutputPort]
    ) -> None:
        """Connect the starvation guard, which reserves buffer space."""
        guard, service = place(m, "guard", StarvationGuard(spec=self.spec)), scheduler.service
        m.d.comb += [
            guard.probes.eq(scheduler.probes),
            guard.probe.eq(scheduler.probe),
            guard.probed.eq(scheduler.probed),
            guard.there.eq(scheduler.there),
            guard.active.eq(service.active),
            guard.online.eq(service.online),
            guard.phase.eq(service.phase),
            scheduler.claims.eq(guard.claims),
            scheduler.holds.eq(guard.holds),
        ]
        for ages, port, out in zip(guard.ports, ins, outs, strict=True):
            m.d.comb += [
                ages.waiting.eq(port.head.waiting),
                ages.anew.eq(port.head.anew),
                ages.exits.eq(port.head.exits),
                *(ages.phases[c].eq(port.head.descriptor[c].phase) for c in range(per_class(self))),
                ages.starts.eq(out.starts),
                ages.circuit.eq(out.started),
                ages.vacant.eq(out.vacant),
                ages.granted.eq(out.granted),
                out.reserved.eq(ages.reserved),
            ]

    def _report(
        self,
        m: Module,
        scheduler: Scheduler,
        dispatcher: Dispatcher,
        acknowledger: Acknowledger,
        ins: list[InputPort],
        outs: list[OutputPort],
    ) -> None:
        """Report all events of the register map from their sources, a cycle later."""
        active = scheduler.service.active
        m.d.comb += [
            self.active.eq(active),
            self.phase.eq(scheduler.service.phase),
            self.counts.cycles.eq(1),
        ]
        sources = {
            "phase_starts": scheduler.service.load,
            "preemptions": scheduler.preempts,
            "reconfiguration_cycles": scheduler.service.load & active & ~dispatcher.moving,
            "flits_in": Cat(port.came for port in ins),
            "flits_out": Cat(port.given for port in outs),
            "phase": Cat(port.unknown for port in ins),
            "length": Cat(port.length for port in ins) | dispatcher.longer,
            "kind": Cat(port.kind for port in ins),
            "overflow": Cat(port.overflow for port in ins),
            "stuck": Cat(port.stuck for port in ins),
            "route": Cat(port.route for port in ins),
            "partner": Cat(link.refused for link in self.links),
            "rewinds": acknowledger.retransmit,
            "dropped": Cat(port.dropped for port in ins) | acknowledger.lost,
        }
        bundles = {
            **{name: self.counts for name in (*COUNTERS, *PORT_COUNTERS) if name != "cycles"},
            **dict.fromkeys(PORT_CAUSES, self.errors),
        }
        assert sources.keys() == bundles.keys(), sources.keys() ^ bundles.keys()
        m.d.sync += [getattr(bundles[name], name).eq(value) for name, value in sources.items()]

    def _acknowledge(
        self,
        m: Module,
        table: PhaseTable,
        dispatcher: Dispatcher,
        ins: list[InputPort],
        outs: list[OutputPort],
    ) -> Acknowledger:
        """Connect control messages, credits and packet numbers; return the acknowledger."""
        unit = place(m, "acknowledger", Acknowledger(spec=self.spec))
        wiring.connect(m, unit.flows, table.reads[2])
        wiring.connect(m, table.restart, unit.restart)
        for k, (port, out) in enumerate(zip(ins, outs, strict=True)):
            wiring.connect(m, port.message, unit.message[k])
            wiring.connect(m, port.event, unit.event[k])
            wiring.connect(m, port.due, unit.due[k])
            wiring.connect(m, unit.reply[k], out.message)
            wiring.connect(m, port.credit, out.credit)
            m.d.comb += [port.enable.eq(unit.ready), unit.exits[k].eq(port.exit)]
        m.d.comb += [
            dispatcher.hold.eq(Cat(due.write for due in unit.due).any()),
            self.queued.eq(any_of([port.queued for port in ins])),
            table.queued.eq(self.queued),
            self.unicasts.eq(Cat(port.unicasts for port in ins)),
        ]
        return unit
