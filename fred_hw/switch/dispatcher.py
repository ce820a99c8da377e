"""Packets of the phase that is served: from the input ports into the interconnect."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.shape import configuration_width
from fred_hw.control.entry_port import entry_layout
from fred_hw.gates.select import any_of, one_hot_mux, selected
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place

from .circuit_choice import CircuitChoice
from .flow_sequencer import FlowSequencer, PortStates, port_states_signature
from .online_router import OnlineRouter
from .ports.signatures import Head, Injection, head_signature, injection_signature
from .scheduler_signatures import Service, service_signature

__all__ = ["Dispatcher"]


class Dispatcher(Unit):
    """Start the packets of the flows of a phase, and move a flit of each in every cycle it can.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Members
    -------
    service : In(service_signature(spec))
        What is served.
    entry : In(entry_layout(spec))
        Entry of the phase that is served from the next cycle on, with ``service.load``.
    hold : In(1)
        No packet may start in this cycle.
    heads : In(head_signature(spec)).array(P)
        Packets at the input ports.
    injections : Out(injection_signature(spec)).array(P)
        What goes into the interconnect for each output port.
    configuration : Out(configuration_width(P, m))
        Of the interconnect, for the flits that were taken in the cycle before.
    moving : Out(1)
        High in each cycle in which a flit goes in.
    longer : Out(P)
        High for a cycle when the packet of an input is longer than others of its flow.

    Timing
    ------
    Latency : none from a flit at a head to what becomes of it; 1 cycle from ``coming`` to a path.
    Throughput : a flit per port and cycle, and packet behind packet without a gap.
    Paths : all inputs but ``entry`` and ``service.load`` to the outputs but ``configuration``.
    Reset : forgets the packets that are under way, and all online paths.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    service: Service
    entry: data.View
    hold: Signal
    heads: list[Head]
    injections: list[Injection]
    configuration: Signal
    moving: Signal
    longer: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Dispatcher", spec)
        ports = spec.ports
        self.unit_name = f"dispatcher_{spec.name}_{spec.protocol.suffix}"
        super().__init__(
            {
                "service": In(service_signature(spec)),
                "entry": In(entry_layout(spec)),
                "hold": In(1),
                "heads": In(head_signature(spec)).array(ports),
                "injections": Out(injection_signature(spec)).array(ports),
                "configuration": Out(configuration_width(ports, spec.middle)),
                "moving": Out(1),
                "longer": Out(ports),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, online = self.spec, self.service.online
        router = place(m, "router", OnlineRouter(ports=spec.ports, middle=spec.middle))
        states = port_states_signature(spec).create()
        flows = [place(m, f"flow_{k + 1}", FlowSequencer(spec=spec)) for k in range(spec.ports)]
        configuration = self._configuration(m)
        for number, flow in enumerate(flows, 1):
            wiring.connect(m, states, flow.ports)
            # A unicast has the flow with the number of its source, and is there only with a path.
            path = router.destination_of[number - 1]
            ends = {
                "members": (self.entry.inputs, 1 << number - 1),
                "ends": (self.entry.outputs, path),
            }
            for name, (ports, unicast) in ends.items():
                kept = Signal(spec.ports, name=f"{name}_{number}")
                with m.If(self.service.load):
                    m.d.sync += kept.eq(Cat(one == number for one in ports))
                m.d.comb += getattr(flow, name).eq(Mux(online, unicast, kept))
        circuits = self._look(m, states, router)
        self._route(m, states, router, flows)
        starts = Cat(flow.start for flow in flows)
        for number in range(len(DATA_CIRCUITS)):
            mine = Cat(circuit == number for circuit in circuits)
            m.d.comb += [
                self.service.ran[number].eq((starts & mine).any()),
                self.service.under[number].eq((Cat(flow.inside for flow in flows) & mine).any()),
            ]
        m.d.comb += [
            states.may.eq(self.service.active & ~self.service.leaving & ~self.hold),
            self.service.runs.eq(Cat(flow.stays for flow in flows).any()),
            self.service.stands.eq(~Cat(flow.inside | flow.start for flow in flows).any()),
            self.service.rests.eq(~Cat(flow.inside | flow.able for flow in flows).any()),
            self.moving.eq(Cat(flow.fire for flow in flows).any()),
            self.longer.eq(any_of([flow.longer for flow in flows])),
        ]
        m.d.sync += self.configuration.eq(Mux(online, router.configuration, configuration))
        self._take(m, flows)
        self._inject(m, flows)
        return m

    def _configuration(self, m: Module) -> Value:
        """Return the word of the phase that is served.

        It is needed a cycle later than the flows, and then kept, as it is wide and ``load`` late.
        """
        width, loaded = len(self.configuration), Signal()
        entered, kept = Signal(width, reset_less=True), Signal(width, reset_less=True)
        m.d.sync += [loaded.eq(self.service.load), entered.eq(self.entry.configuration)]
        with m.If(loaded):
            m.d.sync += kept.eq(entered)
        return Mux(loaded, entered, kept)

    def _look(self, m: Module, states: PortStates, router: OnlineRouter) -> list[Value]:
        """Look at the heads of the circuits that are served, and at what has room on them.

        Return the circuit of each input port.
        """
        service, circuits = self.service, []
        for k, (head, injection) in enumerate(zip(self.heads, self.injections, strict=True)):
            of = self._choose(m, f"of_{k}", router.circuit_of[k], 4)
            to = self._choose(m, f"to_{k}", router.circuit_to[k], 1)
            path = router.destination_of[k]
            for c in range(len(DATA_CIRCUITS)):
                mine = ~service.online | (head.coming[c] & path).any()
                here = head.waiting[c] & (head.descriptor[c].phase == service.phase) & mine
                m.d.comb += [
                    of.values[c].eq(Cat(here, head.valid[c], head.last[c], head.broken[c])),
                    to.values[c].eq(injection.room[c]),
                ]
            known = (states.here, states.valid, states.last, states.broken)
            m.d.comb += [
                head.circuit.eq(of.circuit),
                injection.circuit.eq(to.circuit),
                states.descriptors[k]
                .as_value()
                .eq(selected(of.circuit, [one.as_value() for one in head.descriptor])),
                Cat(own[k] for own in known).eq(of.chosen),
                states.room[k].eq(to.chosen),
            ]
            circuits.append(of.circuit)
        return circuits

    def _choose(self, m: Module, name: str, unicast: Value, width: int) -> CircuitChoice:
        """Choose the circuit of a port."""
        choice = place(m, f"circuit_{name}", CircuitChoice(width=width))
        m.d.comb += [
            choice.online.eq(self.service.online),
            choice.phase.eq(self.service.circuit),
            choice.unicast.eq(unicast),
        ]
        return choice

    def _route(
        self, m: Module, states: PortStates, router: OnlineRouter, flows: list[FlowSequencer]
    ) -> None:
        """Tell the router of packets of the default index."""
        online = self.service.online
        for k, (flow, head) in enumerate(zip(flows, self.heads, strict=True)):
            # Whether the next flit is the last is known before it is there.
            length = states.descriptors[k].length
            left, closing = Signal.like(length, name=f"left_{k}"), Signal(name=f"closing_{k}")
            with m.If(flow.start):
                m.d.sync += [left.eq(length), closing.eq(length == 1)]
            with m.Elif(flow.fire):
                m.d.sync += [left.eq(left - 1), closing.eq(left == 2)]
            # A unicast that has started waits for nobody.
            m.d.sync += router.inside[k].eq(router.holds[k])
            m.d.comb += [
                router.coming[k].eq(head.coming),
                router.room[k].eq(self.injections[k].room),
                router.closing[k].eq(closing),
                router.starts[k].eq(online & flow.start),
                router.holds[k].eq(online & flow.lasts),
            ]

    def _take(self, m: Module, flows: list[FlowSequencer]) -> None:
        """Take flits from the input ports of flows that move."""
        for k, head in enumerate(self.heads):
            mine = Cat(flow.members[k] for flow in flows)
            m.d.comb += [
                head.start.eq((mine & Cat(flow.start for flow in flows)).any()),
                head.take.eq((mine & Cat(flow.fire for flow in flows)).any()),
                head.finish.eq((mine & Cat(flow.ending for flow in flows)).any()),
            ]

    def _inject(self, m: Module, flows: list[FlowSequencer]) -> None:
        """Tell the output ports of flows that move what comes to them."""
        for k, injection in enumerate(self.injections):
            mine = Cat(flow.ends[k] for flow in flows)
            m.d.comb += [
                injection.start.eq((mine & Cat(flow.start for flow in flows)).any()),
                injection.fire.eq((mine & Cat(flow.fire for flow in flows)).any()),
                injection.last.eq((mine & Cat(flow.ending for flow in flows)).any()),
                injection.bad.eq((mine & Cat(flow.bad for flow in flows)).any()),
                injection.descriptor.as_value().eq(
                    one_hot_mux(mine, [flow.descriptor for flow in flows])
                ),
            ]
