"""Packets of the phase that is served: from the input ports into the interconnect."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.shape import configuration_width
from fred_hw.control.entry_port import entry_layout
from fred_hw.datapath.flit import Flit, flit_signature
from fred_hw.gates.select import any_of, selected
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place

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
        Entry of the phase that is served.
    hold : In(1)
        No packet may start in this cycle.
    heads : In(head_signature(spec)).array(P)
        Packets at the input ports.
    injections : Out(injection_signature(spec)).array(P)
        What goes into the interconnect for each output port.
    flits, configuration : Out(flit_signature(data_width)).array(P), Out(configuration_width(P, m))
        To the interconnect.
    moving : Out(1)
        High in each cycle in which a flit goes in.
    longer : Out(P)
        High for a cycle when the packet of an input is longer than others of its flow.

    Timing
    ------
    Latency : none from a flit at a head to ``flits``, 1 cycle from ``room`` to a start.
    Throughput : a flit per port and cycle, and packet behind packet without a gap.
    Paths : all inputs to the outputs.
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
    flits: list[Flit]
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
                "flits": Out(flit_signature(spec.data_width)).array(ports),
                "configuration": Out(configuration_width(ports, spec.middle)),
                "moving": Out(1),
                "longer": Out(ports),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        router = place(m, "router", OnlineRouter(ports=spec.ports, middle=spec.middle))
        states = port_states_signature(spec).create()
        flows = [place(m, f"flow_{k + 1}", FlowSequencer(spec=spec)) for k in range(spec.ports)]
        for number, flow in enumerate(flows, 1):
            m.d.comb += flow.number.eq(number)
            wiring.connect(m, states, flow.ports)
        # By flow number; 0 stands for none.
        start, fire, ending, busy, goes_on = (
            Cat(Const(0, 1), *(getattr(flow, name) for flow in flows))
            for name in ("start", "fire", "ending", "busy", "goes_on")
        )
        self._join(m, states, router)
        self._look(m, states, router)
        self._route(m, states, router, busy, ending)
        m.d.comb += [
            states.may.eq(self.service.active & ~self.service.leaving & ~self.hold),
            self.service.runs.eq(goes_on.any()),
            self.service.stands.eq(~busy.any()),
            self.service.ran.eq(start.any()),
            self.moving.eq(fire.any()),
            self.longer.eq(any_of([flow.longer for flow in flows])),
            self.configuration.eq(
                Mux(self.service.online, router.configuration, self.entry.configuration)
            ),
        ]
        self._take(m, states, start, fire, ending)
        self._inject(m, states, flows, start, fire, ending)
        return m

    def _join(self, m: Module, states: PortStates, router: OnlineRouter) -> None:
        """Say which flow each port is in; that of a unicast has the number of its source."""
        flow = self.spec.ports.bit_length()
        for k in range(self.spec.ports):
            reached = [
                Const(j + 1, flow)
                & (router.connected[j] & (router.destination_of[j] == k)).replicate(flow)
                for j in range(self.spec.ports)
            ]
            joined = Signal(flow, name=f"source_of_{k}")
            own = router.connected[k].replicate(flow) & (k + 1)
            online = self.service.online
            m.d.comb += [
                joined.eq(any_of(reached)),
                states.takes[k].eq(Mux(online, own, self.entry.inputs[k])),
                states.gives[k].eq(Mux(online, joined, self.entry.outputs[k])),
            ]

    def _look(self, m: Module, states: PortStates, router: OnlineRouter) -> None:
        """Look at the heads of the circuit that is served, and at what has room on it."""
        service, circuit = self.service, self.service.circuit
        for k, (head, injection) in enumerate(zip(self.heads, self.injections, strict=True)):
            # The scheduler knows of room a cycle late; until then nobody else may take it.
            before = Signal(len(DATA_CIRCUITS), name=f"room_before_{k}")
            m.d.sync += before.eq(injection.room)
            descriptor = states.descriptors[k]
            mine = router.connected[k] & (router.destination_of[k] == descriptor.peer)
            m.d.comb += [
                descriptor.as_value().eq(selected(circuit, list(head.descriptor))),
                states.here[k].eq(
                    selected(circuit, list(head.waiting))
                    & (descriptor.phase == service.phase)
                    & (~service.online | mine)
                ),
                states.room[k].eq(selected(circuit, list(injection.room & before))),
                states.valid[k].eq(head.valid),
                states.last[k].eq(head.last),
                states.broken[k].eq(head.broken),
            ]

    def _route(
        self, m: Module, states: PortStates, router: OnlineRouter, busy: Value, ending: Value
    ) -> None:
        """Tell the router of packets of the default index."""
        service = self.service
        for k, head in enumerate(self.heads):
            descriptor = states.descriptors[k]
            m.d.comb += [
                router.waits[k].eq(
                    selected(service.circuit, list(head.waiting))
                    & (descriptor.phase == self.spec.protocol.online)
                ),
                router.peers[k].eq(descriptor.peer),
            ]
        m.d.comb += [
            router.online.eq(service.online),
            router.circuit.eq(service.circuit),
            router.may.eq(states.may),
            router.here.eq(states.here),
            router.room.eq(states.room),
            router.busy.eq(busy[1:]),
            router.ending.eq(ending[1:]),
        ]

    def _take(
        self, m: Module, states: PortStates, start: Value, fire: Value, ending: Value
    ) -> None:
        """Take flits from the input ports of flows that move."""
        for head, flit, flow in zip(self.heads, self.flits, states.takes, strict=True):
            m.d.comb += [
                head.circuit.eq(self.service.circuit),
                head.start.eq(selected(flow, list(start))),
                head.take.eq(selected(flow, list(fire))),
                head.finish.eq(selected(flow, list(ending))),
                flit.valid.eq(head.take),
                flit.data.eq(head.word),
            ]

    def _inject(
        self,
        m: Module,
        states: PortStates,
        flows: list[FlowSequencer],
        start: Value,
        fire: Value,
        ending: Value,
    ) -> None:
        """Tell the output ports of flows that move what comes to them."""
        descriptors = [Const(0, 1), *(flow.descriptor for flow in flows)]
        bad = [Const(0, 1), *(flow.bad for flow in flows)]
        for injection, number in zip(self.injections, states.gives, strict=True):
            m.d.comb += [
                injection.start.eq(selected(number, list(start))),
                injection.fire.eq(selected(number, list(fire))),
                injection.last.eq(selected(number, list(ending))),
                injection.circuit.eq(self.service.circuit),
                injection.descriptor.as_value().eq(selected(number, descriptors)),
                injection.bad.eq(selected(number, bad)),
            ]
            # Towards the destination the peer of a unicast is its source.
            with m.If(self.service.online):
                m.d.comb += injection.descriptor.peer.eq(number - 1)
