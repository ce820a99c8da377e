"""Progress of a flow: acknowledged packets of its outputs."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import any_of, gated, largest, one_hot_mux
from fred_hw.member import Bundle, member
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .case_queue import case_layout

__all__ = ["FlowProgress", "Progress"]


class Progress(Bundle):
    """Inputs and outputs of a flow, and how far acks lag behind the expected number."""

    inputs = member(Out, lambda spec: spec.ports)
    """Input ports of the flow."""
    outputs = member(Out, lambda spec: spec.ports)
    """Output ports of the flow."""
    lag: data.View = member(
        Out, lambda spec: data.ArrayLayout(spec.protocol.fields["sequence"], spec.ports)
    )
    """Distance of each output's last ack from the expected number of the flow."""
    moved = member(Out, 1)
    """An output of the flow has moved."""
    due = member(Out, lambda spec: spec.protocol.fields["sequence"])
    """The expected number of the flow."""
    before = member(Out, lambda spec: spec.protocol.fields["sequence"])
    """Distance of the ack farthest behind, without the received ack."""
    after = member(Out, lambda spec: spec.protocol.fields["sequence"])
    """Distance of the ack farthest behind, with the received ack."""


class FlowProgress(Unit):
    """Find inputs and outputs of a flow, and compare its acks with the expected number.

    An ack above the expected number is from before a retransmission, and does not count as behind.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : from ``gather`` 1 cycle to the ends of the flow and what is due, 2 to ``lag`` and
        ``moved``, 3 to ``before`` and ``after``.
    Throughput : one case in 4 cycles.
    Paths : none.
    Reset : clears all; a case that was not served is lost.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    served: data.View = member(In, lambda u: case_layout(u.spec))
    """The case; stays until it is served."""
    inputs: data.View = member(
        In, lambda u: data.ArrayLayout(u.spec.ports.bit_length(), u.spec.ports)
    )
    """Flow of the phase at each input port, with ``gather``."""
    outputs: data.View = member(
        In, lambda u: data.ArrayLayout(u.spec.ports.bit_length(), u.spec.ports)
    )
    """Flow of the phase at each output port, with ``gather``."""
    due: data.View = member(
        In, lambda u: data.ArrayLayout(u.spec.protocol.fields["sequence"], u.spec.ports)
    )
    """Number that is due at each port, with ``gather``."""
    acked: data.View = member(
        In, lambda u: data.ArrayLayout(u.spec.protocol.fields["sequence"], u.spec.ports)
    )
    """Last ack of each port; stays like ``served``."""
    gather = member(In, 1)
    """The inputs are available."""
    progress: Progress = member(Out, lambda u: Progress.signature(u.spec))
    """The results."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("FlowProgress", spec)
        ports = spec.ports
        self.unit_name = f"flow_progress_p{ports}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        mine = Signal(self.spec.ports)
        m.d.comb += mine.eq(1 << self.served.port)
        inputs, outputs = self._ends(m, mine)
        known = Signal.like(self.served.number)
        own = Signal.like(mine)
        with m.If(self.gather):
            m.d.sync += [
                self.progress.inputs.eq(inputs),
                self.progress.outputs.eq(outputs),
                # All inputs of a flow expect the same number, so any of them may supply it.
                self.progress.due.eq(any_of([gated(d, inputs[k]) for k, d in enumerate(self.due)])),
                known.eq(one_hot_mux(mine, list(self.acked))),
                own.eq(mine),
            ]
        self._compare(m, own, known)

    def _ends(self, m: Module, mine: Value) -> tuple[Value, Value]:
        """Return the inputs and the outputs of the case's flow."""
        ports, case = self.spec.ports, self.served
        own = Signal(ports.bit_length(), name="own_flow")
        inputs, outputs = Signal(ports, name="inputs_of"), Signal(ports, name="outputs_of")
        as_input, as_output = (
            one_hot_mux(mine, list(flows)) for flows in (self.inputs, self.outputs)
        )
        m.d.comb += [own.eq(Mux(case.from_input, as_input, as_output))]
        with m.If(own != 0):
            m.d.comb += [
                inputs.eq(Cat(flow == own for flow in self.inputs)),
                outputs.eq(Cat(flow == own for flow in self.outputs)),
            ]
        return inputs, outputs

    def _compare(self, m: Module, mine: Value, known: Value) -> None:
        """Compute how far acks lag behind, before and after the received one."""
        case, progress, window = self.served, self.progress, self.spec.protocol.window_packets
        moved = Signal()
        ahead = Signal.like(case.number)
        left = Signal.like(case.number)
        behind_then = Signal.like(case.number)
        m.d.comb += [
            ahead.eq(case.number - known),
            left.eq(progress.due - case.number),
            progress.moved.eq(moved & (progress.outputs & mine).any()),
        ]
        m.d.sync += [
            moved.eq((case.kind == Kind.ACK) & (ahead != 0) & (ahead <= window)),
            behind_then.eq(Mux(left <= window, left, 0)),
        ]
        then = []
        for k, (lag, acked) in enumerate(zip(progress.lag, self.acked, strict=True)):
            behind = Signal.like(case.number, name=f"behind_{k}")
            m.d.comb += behind.eq(progress.due - acked)
            m.d.sync += lag.eq(Mux(progress.outputs[k] & (behind <= window), behind, 0))
            then.append(Mux(moved & mine[k], behind_then, lag))
        m.d.sync += [
            progress.before.eq(largest(m, "before", list(progress.lag))),
            progress.after.eq(largest(m, "after", then)),
        ]
