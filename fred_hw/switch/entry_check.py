"""Check of an entry before it is used: each output gets the inputs of its flow, and no others."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import entry_layout
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec, place

__all__ = ["EntryCheck"]


class EntryCheck(Unit):
    """Send one bit per input through an interconnect of its own, and compare what comes out.

    Input k sends 2^k. A sum tells which inputs it is of, so an output gets that of its flow's
    inputs if and only if the configuration brings it those, all of them and nothing else; one that
    joins two flows, or leaves an input out, is refused.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Members
    -------
    entry : In(entry_layout(spec))
        It stays from ``start`` to ``done``.
    start, done, right : In(1), Out(1), Out(1)
        Check it; the check is over and the entry can be used.

    Timing
    ------
    Latency : 2 cycles and those of the check's interconnect.
    Throughput : one entry in that time.
    Paths : none.
    Reset : forgets the entry.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    entry: data.View
    start: Signal
    done: Signal
    right: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("EntryCheck", spec)
        self.unit_name = f"entry_check_m{spec.middle}_p{spec.ports}"
        super().__init__(
            {"entry": In(entry_layout(spec)), "start": In(1), "done": Out(1), "right": Out(1)}
        )

    def build(self, platform: object) -> Module:
        m = Module()
        ports = self.spec.ports
        probe = SwitchSpec(
            ports=ports,
            middle=self.spec.middle,
            format="int16" if ports <= 16 else "int32",
            overflow="wrap",
            lanes=1 if ports <= 32 else 2,
            adder_registers=0,
        )
        network = place(m, "interconnect", Interconnect(spec=probe))
        inputs, outputs = self.entry.inputs, self.entry.outputs
        m.d.comb += network.configuration.eq(self.entry.configuration)
        rights: list[Value] = []
        for k, flow in enumerate(inputs):
            m.d.comb += [
                network.i[k].valid.eq(flow != 0),
                network.i[k].data.eq(Const(1 << k, probe.data_width)),
            ]
            ends = Cat(other == flow for other in outputs).any()
            rights.append((flow == 0) | ends)
        for k, flow in enumerate(outputs):
            wanted = Signal(ports, name=f"wanted_{k}")
            m.d.comb += wanted.eq(Cat((other == flow) & (flow != 0) for other in inputs))
            got = network.o[k].valid == (flow != 0)
            rights.append(got & (~network.o[k].valid | (network.o[k].data == wanted)))
        numbers = Cat(flow > ports for flow in (*inputs, *outputs))
        idle = ~self.entry.used
        m.d.sync += self.right.eq(
            idle | (Cat(rights).all() & ~numbers.any() & (self.entry.circuit < len(DATA_CIRCUITS)))
        )
        cycles = latency_cycles(probe) + 1
        timer = Signal(range(cycles + 1))
        with m.If(self.start):
            m.d.sync += timer.eq(cycles)
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        m.d.sync += self.done.eq(timer == 1)
        return m
