"""Dispatch of packets of the served phase into the interconnect."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import entry_layout
from fred_hw.gates.one_hot import OneHotMux
from fred_hw.gates.select import any_of, decoded, gated, selected
from fred_hw.gates.wire import wire
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.member import member
from fred_hw.per_class import channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .circuit_choice import CircuitChoice
from .flow_sequencer import FlowSequencer, PortStates
from .matching import SwitchMatching
from .network_paths import matching
from .ports.signatures import Head, Injection
from .scheduler_signatures import Service
from .unicast_sequencer import UnicastSequencer

__all__ = ["Dispatcher"]


class Dispatcher(Unit):
    """Start the packets of a phase's flows, and move one flit of each in every possible cycle.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Timing
    ------
    Latency : none from a flit at a head to what becomes of it; 1 cycle from ``coming`` to a path.
    Throughput : a flit per port and cycle, and packet behind packet without a gap.
    Paths : all inputs but ``entry`` and ``service.load`` to the outputs but ``configuration``.
    Reset : forgets the packets being sent, and all unicast paths.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    service: Service = member(In, lambda u: Service.signature(u.spec))
    """The served phase, or unicasts."""
    entry: data.View = member(In, lambda u: entry_layout(u.spec))
    """Entry of the phase that is served from the next cycle on, with ``service.load``."""
    hold = member(In, 1)
    """No packet may start in this cycle."""
    heads: list[Head] = member(In, lambda u: Head.signature(u.spec), array=lambda u: u.spec.ports)
    """Packets at the input ports."""
    injections: list[Injection] = member(
        Out, lambda u: Injection.signature(u.spec), array=lambda u: u.spec.ports
    )
    """Flits for the interconnect, by output port."""
    configuration = member(Out, lambda u: u.spec.configuration_width)
    """Configuration of the interconnect for the flits taken in the previous cycle."""
    moving = member(Out, 1)
    """High in each cycle in which a flit is sent."""
    longer = member(Out, lambda u: u.spec.ports)
    """High for a cycle when the packet of an input is longer than the others of its flow."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Dispatcher", spec)
        self.unit_name = f"dispatcher_{spec.name}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        spec, service = self.spec, self.service
        router = place(m, "router", matching(spec))
        states = PortStates.signature(spec).create()
        flows = [place(m, f"flow_{k + 1}", FlowSequencer(spec=spec)) for k in range(spec.ports)]
        unicasts = [
            place(m, f"unicast_{k}", UnicastSequencer(spec=spec)) for k in range(spec.ports)
        ]
        configuration = self._configuration(m)
        inputs, outputs = (
            [wire(m, f"{name}_{k}", decoded(own, spec.ports + 1)) for k, own in enumerate(numbers)]
            for name, numbers in (("in_flow", self.entry.inputs), ("out_flow", self.entry.outputs))
        )
        for number, flow in enumerate(flows, 1):
            wiring.connect(m, states, flow.ports)
            for name, ports in (("members", inputs), ("ends", outputs)):
                kept = Signal(spec.ports, name=f"{name}_{number}")
                with m.If(service.load):
                    m.d.sync += kept.eq(Cat(one[number] for one in ports))
                m.d.comb += getattr(flow, name).eq(kept)
        of_unicasts = self._look(m, states, router, unicasts)
        self._route(m, router, unicasts)
        self._serve(m, router, flows, unicasts)
        may = service.active & ~service.leaving & ~self.hold
        m.d.comb += [
            states.may.eq(may & ~service.online),
            *(unicast.may.eq(may & service.online) for unicast in unicasts),
            self.moving.eq(Cat(one.fire for one in (*flows, *unicasts)).any()),
            self.longer.eq(any_of([flow.longer for flow in flows])),
        ]
        m.d.sync += self.configuration.eq(Mux(service.online, router.configuration, configuration))
        self._take(m, states.may, flows, unicasts)
        self._inject(m, states, of_unicasts, router, flows, unicasts)

    def _configuration(self, m: Module) -> Value:
        """Return the configuration word of the served phase.

        It is needed a cycle later than the flows, and then kept, as it is wide and ``load`` late.
        """
        width = len(self.configuration)
        loaded = Signal()
        entered = Signal(width, reset_less=True)
        kept = Signal(width, reset_less=True)
        m.d.sync += [loaded.eq(self.service.load), entered.eq(self.entry.configuration)]
        with m.If(loaded):
            m.d.sync += kept.eq(entered)
        return Mux(loaded, entered, kept)

    def _serve(
        self,
        m: Module,
        router: SwitchMatching,
        flows: list[FlowSequencer],
        unicasts: list[UnicastSequencer],
    ) -> None:
        """Report the progress of service to the scheduler."""
        service, both = self.service, (*flows, *unicasts)
        under_way = Cat(one.under_way for one in both).any()
        start, under, able = (
            Cat(getattr(flow, name) for flow in flows).any()
            for name in ("start", "under_way", "able")
        )
        waits = Cat(unicast.able for unicast in unicasts).any()
        for number in range(per_class(self)):
            mine = Cat(circuit == number for circuit in router.circuit_of)
            of_phase = service.circuit[number]
            starts, goes = (
                (Cat(getattr(unicast, name) for unicast in unicasts) & mine).any()
                for name in ("start", "under_way")
            )
            m.d.comb += [
                service.ran[number].eq((start & of_phase) | starts),
                service.under[number].eq((under & of_phase) | goes),
            ]
        m.d.comb += [
            service.runs.eq(Cat(one.stays for one in both).any()),
            service.stands.eq(~Cat(one.under_way | one.start for one in both).any()),
            service.rests.eq(~(under_way | Mux(service.online, waits, able))),
        ]

    def _look(
        self,
        m: Module,
        states: PortStates,
        router: SwitchMatching,
        unicasts: list[UnicastSequencer],
    ) -> list[data.View]:
        """Examine the heads of the served virtual channels, and the available buffer space.

        Return what is known of the unicasts at the heads.
        """
        spaces = Signal(self.spec.ports, name="space_of_unicasts")
        layout = descriptor_layout(self.spec)
        descriptors, strobes = [], 5
        width = strobes + self.spec.protocol.fields["last"]
        for k, (head, injection) in enumerate(zip(self.heads, self.injections, strict=True)):
            of = self._choose(m, f"of_{k}", router.circuit_of[k], width)
            to = self._choose(m, f"to_{k}", router.circuit_to[k], 1)
            path, unicast = router.destination_of[k], unicasts[k]
            for c in range(per_class(self)):
                phase, waits = head.descriptor[c].phase, head.waiting[c]
                here = waits & head.of_phase[c]
                # A unicast is a flow of its source alone, and present only with a path.
                lone = waits & (phase == self.spec.protocol.online) & (head.coming[c] & path).any()
                seen = head.valid[c], head.last[c], head.broken[c], here, lone
                m.d.comb += [
                    of.values[c].eq(Cat(*seen, head.descriptor[c].length)),
                    to.values[c].eq(injection.space[c]),
                ]
            descriptor = Signal(layout, name=f"descriptor_of_{k}")
            of_unicast = Signal(layout, name=f"descriptor_of_unicast_{k}")
            descriptors.append(of_unicast)
            known = (states.valid, states.last, states.broken, states.here)
            own = (
                unicast.valid,
                unicast.last,
                unicast.broken,
                Signal(name=f"due_{k}"),
                unicast.here,
            )
            m.d.comb += [
                head.circuit.eq(of.circuit),
                injection.circuit.eq(to.circuit),
                descriptor.as_value().eq(
                    selected(of.circuit, [one.as_value() for one in head.descriptor])
                ),
                # The length is needed first, and known before its virtual channel.
                *(one.eq(descriptor) for one in (states.descriptors[k], of_unicast)),
                states.descriptors[k].length.eq(of.of_phase[strobes:]),
                of_unicast.length.eq(of.of_unicast[strobes:]),
                Cat(one[k] for one in known).eq(of.of_phase),
                Cat(own).eq(of.of_unicast),
                states.space[k].eq(to.of_phase),
                spaces[k].eq(to.of_unicast),
                unicast.space.eq((path & spaces).any()),
                unicast.length.eq(of_unicast.length),
            ]
        return descriptors

    def _choose(self, m: Module, name: str, unicast: Value, width: int) -> CircuitChoice:
        """Choose the virtual channel of a port."""
        choice = place(m, f"circuit_{name}", CircuitChoice(width=width, channels=channels_of(self)))
        m.d.comb += [
            choice.online.eq(self.service.online),
            choice.phase.eq(self.service.circuit),
            choice.unicast.eq(unicast),
        ]
        return choice

    def _route(self, m: Module, router: SwitchMatching, unicasts: list[UnicastSequencer]) -> None:
        """Report unicasts to the router."""
        for k, (unicast, head) in enumerate(zip(unicasts, self.heads, strict=True)):
            m.d.comb += [
                router.coming[k].eq(head.coming),
                router.space[k].eq(self.injections[k].space),
                router.closing[k].eq(unicast.closing),
                router.starts[k].eq(unicast.start),
                router.holds[k].eq(unicast.lasts),
            ]

    def _take(
        self, m: Module, may: Signal, flows: list[FlowSequencer], unicasts: list[UnicastSequencer]
    ) -> None:
        """Take flits from the input ports of moving flows.

        That packets may start is known late, and said to the ports, not to the flows before them.
        """
        able, goes, ends, stops = (
            wire(m, f"flows_{name}", any_of(gated(flow.members, one) for flow, one in ones))
            for name, ones in (
                ("able", [(flow, flow.able) for flow in flows]),
                ("go", [(flow, flow.goes) for flow in flows]),
                ("able_to_end", [(flow, flow.able & flow.closes) for flow in flows]),
                ("end", [(flow, flow.goes & flow.closes) for flow in flows]),
            )
        )
        for k, (head, unicast) in enumerate(zip(self.heads, unicasts, strict=True)):
            m.d.comb += [
                head.start.eq((may & able[k]) | unicast.start),
                head.take.eq((may & able[k]) | goes[k] | unicast.fire),
                head.finish.eq((may & ends[k]) | stops[k] | unicast.ending),
            ]

    def _inject(
        self,
        m: Module,
        states: PortStates,
        of_unicasts: list[data.View],
        router: SwitchMatching,
        flows: list[FlowSequencer],
        unicasts: list[UnicastSequencer],
    ) -> None:
        """Announce the flits of moving flows to the output ports."""
        width = descriptor_layout(self.spec).size
        online, paths = self.service.online, router.destination_of
        descriptors = [
            wire(
                m,
                f"descriptor_{k}",
                Mux(online, of_unicasts[k].as_value(), flow.descriptor.as_value()),
            )
            for k, flow in enumerate(flows)
        ]
        able = wire(m, "flows_begin_at", any_of(gated(flow.ends, flow.able) for flow in flows))
        lone = wire(
            m,
            "unicasts_begin_at",
            any_of(gated(path, one.start) for path, one in zip(paths, unicasts, strict=True)),
        )
        pairs = [*((flow, flow.ends) for flow in flows), *zip(unicasts, paths, strict=True)]
        goes = {
            name: wire(
                m, f"{what}_at", any_of(gated(ends, getattr(one, what)) for one, ends in pairs)
            )
            for name, what in (("fire", "fire"), ("last", "ending"), ("bad", "bad"))
        }
        sources = [
            wire(m, f"ends_of_{k}", Mux(online, path, flow.ends))
            for k, (path, flow) in enumerate(zip(paths, flows, strict=True))
        ]
        for k, injection in enumerate(self.injections):
            m.d.comb += injection.start.eq((states.may & able[k]) | lone[k])
            for name, strobes in goes.items():
                m.d.comb += getattr(injection, name).eq(strobes[k])
            mux = place(m, f"descriptor_to_{k}", OneHotMux(count=len(flows), width=width))
            m.d.comb += [
                mux.choice.eq(Cat(source[k] for source in sources)),
                *(value.eq(one) for value, one in zip(mux.values, descriptors, strict=True)),
                injection.descriptor.as_value().eq(mux.o),
            ]
