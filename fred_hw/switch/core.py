"""The switch core: phases of collectives on an interconnect, one after the other by priority."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.configuration import configuration_width
from fred_hw.datapath.interconnect import Interconnect, latency_cycles, place
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit

from .input_port import InputPort
from .output_port import OutputPort
from .packets import PortStream, port_signature
from .select import selected
from .spec import DATA_CIRCUITS, CoreSpec

__all__ = ["SwitchCore", "phase_fields"]


def phase_fields(switch: SwitchSpec) -> dict[str, int]:
    """Return the bits of each field of a phase's entry, the lowest first.

    ``inputs`` and ``outputs`` hold for each port the number of its flow, from 1, or 0 for none;
    ``circuit`` is the virtual circuit of the phase's packets, ``used`` whether there is a phase.
    """
    flow = switch.ports.bit_length()
    return {
        "configuration": configuration_width(switch.ports, switch.middle),
        "inputs": flow * switch.ports,
        "outputs": flow * switch.ports,
        "circuit": 2,
        "used": 1,
    }


class SwitchCore(Unit):
    """Serve the phases whose packets are there, the most urgent virtual circuit first.

    A phase is a set of flows that the interconnect carries at once. It may start when every input
    port in it has a packet of it at the head of the phase's circuit and every output port room for
    a largest packet. Of the phases that may, one of the most urgent circuit starts, taking turns
    among those. It then carries one packet of each of its flows: a flit of a flow goes in when all
    inputs of that flow have one, so a reduction only ever adds flits of equal place of packets of
    the same turn. Between two packets of a phase a more urgent one may come in; it loses nothing
    but its turn.

    All ports of a flow must send equally long packets, of at most ``packet_flits`` flits, and
    ports that share several phases of one circuit must send their packets in the same order.

    Parameters
    ----------
    switch : SwitchSpec
        The interconnect.
    spec : CoreSpec
        Phases and buffers.

    Members
    -------
    i, o : In and Out(port stream).array(P)
        Packets from and to the ports.
    write, write_phase, entry : In(1), In(phase_bits), In
        Write the entry of a phase, see ``phase_fields``; only while it has no packet in the switch.
    refused : Out(P)
        High for a cycle for each flit of a port that was dropped, as its circuit does not exist.
    starts : Out(1)
        High for one cycle when a phase starts.

    Timing
    ------
    Latency : 5 cycles and those of the interconnect, from the first flit of a lone packet on a
        port to the same flit offered.
    Throughput : one flit per port and cycle, without a gap between packets of 3 flits or more.
    Paths : ``i[k].circuit`` to ``i[k].ready``.
    Reset : forgets all packets and phases.
    """

    i: list[PortStream]
    o: list[PortStream]
    write: Signal
    write_phase: Signal
    entry: Signal
    refused: Signal
    starts: Signal

    def __init__(self, *, switch: SwitchSpec, spec: CoreSpec) -> None:
        self.switch, self.spec = switch, spec
        self.unit_name = f"{switch.name}_core_{spec.suffix}"
        port = port_signature(spec, switch.data_width)
        super().__init__(
            {
                "i": In(port).array(switch.ports),
                "o": Out(port).array(switch.ports),
                "write": In(1),
                "write_phase": In(spec.phase_bits),
                "entry": In(sum(phase_fields(switch).values())),
                "refused": Out(switch.ports),
                "starts": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        switch, spec = self.switch, self.spec
        width, latency = switch.data_width, latency_cycles(switch)
        ins = [
            place(m, f"input_{k}", InputPort(spec=spec, data_width=width))
            for k in range(switch.ports)
        ]
        outs = [
            place(m, f"output_{k}", OutputPort(spec=spec, data_width=width, latency=latency))
            for k in range(switch.ports)
        ]
        for port, outside in zip(ins, self.i, strict=True):
            m.d.comb += [
                *(
                    getattr(port.i, name).eq(getattr(outside, name))
                    for name in ("valid", "data", "last", "phase", "circuit")
                ),
                outside.ready.eq(port.i.ready),
            ]
        for port, outside in zip(outs, self.o, strict=True):
            m.d.comb += [
                *(
                    getattr(outside, name).eq(getattr(port.o, name))
                    for name in ("valid", "data", "last", "phase", "circuit")
                ),
                port.o.ready.eq(outside.ready),
            ]
        m.d.comb += self.refused.eq(Cat(port.refused for port in ins))
        may, circuits, masks = self._may_start(m, ins, outs)
        chosen, found = self._choose(m, may, circuits)
        self._serve(m, ins, outs, chosen, found, circuits, masks)
        return m

    def _may_start(
        self, m: Module, ins: list[InputPort], outs: list[OutputPort]
    ) -> tuple[list[Value], list[Signal], list[tuple[Signal, Signal]]]:
        """Keep who takes part in each phase, and say which of them may start."""
        spec, ports = self.spec, self.switch.ports
        fields = self._fields(self.entry)
        room = Cat(port.room for port in outs)
        may: list[Value] = []
        circuits: list[Signal] = []
        masks: list[tuple[Signal, Signal]] = []
        for phase in range(spec.phases):
            used = Signal(name=f"used_{phase}")
            circuit = Signal(2, name=f"circuit_{phase}")
            takes = Signal(ports, name=f"inputs_{phase}")
            gives = Signal(ports, name=f"outputs_{phase}")
            with m.If(self.write & (self.write_phase == phase)):
                m.d.sync += [
                    used.eq(fields["used"]),
                    circuit.eq(fields["circuit"]),
                    takes.eq(Cat(flow.any() for flow in self._flows(fields["inputs"]))),
                    gives.eq(Cat(flow.any() for flow in self._flows(fields["outputs"]))),
                ]
            there = Cat(
                selected(
                    circuit,
                    [port.waiting[c] & (port.phase[c] == phase) for c in range(len(DATA_CIRCUITS))],
                )
                for port in ins
            )
            ready = Signal(name=f"may_{phase}")
            m.d.comb += ready.eq(
                used & takes.any() & (there | ~takes).all() & (room | ~gives).all()
            )
            may.append(ready)
            circuits.append(circuit)
            masks.append((takes, gives))
        return may, circuits, masks

    def _choose(self, m: Module, may: list[Value], circuits: list[Signal]) -> tuple[Signal, Signal]:
        """Return the phase to start next, of the most urgent circuit, and whether there is one."""
        spec = self.spec
        recent = Signal(spec.phase_bits)  # the phase that started last
        chosen, found = Signal(spec.phase_bits), Signal()
        best = Signal(3)
        m.d.comb += best.eq(len(DATA_CIRCUITS))
        for circuit in reversed(range(len(DATA_CIRCUITS))):
            able = [one & (where == circuit) for one, where in zip(may, circuits, strict=True)]
            with m.If(Cat(able).any()):
                m.d.comb += [best.eq(circuit), found.eq(1)]
                # Those up to the recent one first, so that a later statement wins for the others.
                for later in (False, True):
                    for phase in reversed(range(spec.phases)):
                        after = recent < phase if phase else Const(0, 1)
                        with m.If(able[phase] & (after if later else ~after)):
                            m.d.comb += chosen.eq(phase)
        with m.If(self.starts):
            m.d.sync += recent.eq(chosen)
        return chosen, found

    def _serve(
        self,
        m: Module,
        ins: list[InputPort],
        outs: list[OutputPort],
        chosen: Signal,
        found: Signal,
        circuits: list[Signal],
        masks: list[tuple[Signal, Signal]],
    ) -> None:
        """Carry one packet of each flow of the phase, then start the next one."""
        switch, spec = self.switch, self.spec
        table = m.submodules.table = Memory(shape=len(self.entry), depth=spec.phases, init=[])
        write, read = table.write_port(), table.read_port()
        m.d.comb += [
            write.addr.eq(self.write_phase),
            write.data.eq(self.entry),
            write.en.eq(self.write),
            read.addr.eq(chosen),
        ]
        active, phase = Signal(), Signal(spec.phase_bits)
        fields = self._fields(read.data)
        takes, gives = (self._flows(fields[name]) for name in ("inputs", "outputs"))
        done = Signal(switch.ports + 1)  # by flow
        fire, ending, finished = (Signal(switch.ports + 1) for _ in range(3))
        for flow in range(1, switch.ports + 1):
            members = Cat(one == flow for one in takes)
            ready = (Cat(port.valid for port in ins) | ~members).all()
            m.d.comb += [
                fire[flow].eq(active & ~done[flow] & members.any() & ready),
                ending[flow].eq(fire[flow] & (Cat(port.last for port in ins) & members).any()),
                finished[flow].eq(done[flow] | ending[flow] | ~members.any()),
            ]
        over = Signal()
        m.d.comb += [
            over.eq(~active | finished[1:].all()),
            self.starts.eq(over & found & ~self.write),
            read.en.eq(self.starts),
        ]
        m.d.sync += done.eq(done | ending)
        with m.If(over):
            m.d.sync += [done.eq(0), active.eq(self.starts)]
        with m.If(self.starts):
            m.d.sync += phase.eq(chosen)
        circuit = selected(chosen, circuits)
        start_in = selected(chosen, [takes for takes, _ in masks])
        start_out = selected(chosen, [gives for _, gives in masks])
        interconnect = place(m, "interconnect", Interconnect(spec=switch))
        m.d.comb += interconnect.configuration.eq(fields["configuration"])
        for k, port in enumerate(ins):
            goes = selected(takes[k], list(fire))
            m.d.comb += [
                port.start.eq((self.starts & start_in[k]) << circuit),
                port.circuit.eq(fields["circuit"]),
                port.take.eq(goes),
                interconnect.i[k].valid.eq(goes),
                interconnect.i[k].data.eq(port.word),
            ]
        for k, port in enumerate(outs):
            m.d.comb += [
                port.start.eq(self.starts & start_out[k]),
                port.fire.eq(selected(gives[k], list(fire))),
                port.last.eq(selected(gives[k], list(ending))),
                port.phase.eq(phase),
                port.circuit.eq(fields["circuit"]),
                port.valid.eq(interconnect.o[k].valid),
                port.data.eq(interconnect.o[k].data),
            ]

    def _fields(self, entry: Value) -> dict[str, Value]:
        """Return the fields of an entry."""
        found: dict[str, Value] = {}
        offset = 0
        for name, width in phase_fields(self.switch).items():
            found[name] = entry[offset : offset + width]
            offset += width
        return found

    def _flows(self, numbers: Value) -> list[Value]:
        """Return the flow of each port."""
        width = self.switch.ports.bit_length()
        return [numbers[width * k : width * (k + 1)] for k in range(self.switch.ports)]
