"""Acks, nacks and asks of flows: merged, handed on, answered."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fifo import Fifo
from fred_hw.gates.fsm import Fsm
from fred_hw.gates.select import first_of, one_hot_mux, round_robin
from fred_hw.link.descriptor import key_bits
from fred_hw.link.message import message_layout, message_signature, message_stream
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

__all__ = ["Acknowledger"]

QUEUED = 4
"""Messages that each port keeps; one more is lost, which the protocol makes up for."""


class Acknowledger(Unit):
    """Serve one message or event at a time.

    - Ack from an output of a flow: when the smallest of the flow's outputs has moved, that goes to
      its inputs.
    - Nack from an output: its number becomes the one that is due at all inputs of the flow, and
      goes to all of them; not again if other outputs say the same soon after.
    - Ask from an input: it is told the number that is due and the smallest ack, and outputs that
      have not acknowledged all are asked.
    - A packet from an input that was due before: likewise, but for the number that is due.
    - A packet from an input that is due later: it is told what is due.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    message : In(message_signature(spec)).array(P)
        Messages from the neighbours.
    late, early, event_key, event_taken : In, In, In, Out(1) of P each
        Events of the input ports.
    clear, clear_key, clear_done : In(1), In, Out(1)
        Start a flow's numbers at 0; ``clear`` stays until done.
    phase, inputs, outputs : Out, In, In
        Phase that is looked up, and a cycle later the flows of the ports in it.
    key, due : Out, In(P numbers)
        Flow that is looked up, and in the same cycle the numbers that are due at the ports.
    write, number : Out(P), Out
        Write the number that is due of flow ``key`` at ports; none may start in this cycle.
    reply : Out(message_stream(spec)).array(P)
        Messages to the neighbours.
    gone_back : Out(P)
        High for a cycle for each source that is sent back.
    ready : Out(1)
        Low after a reset until all numbers are 0.

    Timing
    ------
    Latency : 8 cycles from a message to the first that it causes.
    Throughput : one message in 6 cycles, one that is answered in 8.
    Paths : none.
    Reset : starts all flows' numbers at 0, which takes a cycle for each.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol, ports = spec.protocol, spec.ports
        fields = protocol.fields(ports)
        sequence, key, flow = fields["sequence"], key_bits(spec), ports.bit_length()
        self.unit_name = f"acknowledger_p{ports}_{protocol.suffix}"
        self._picks, self._found, self._gathers = Signal(), Signal(), Signal()
        self._lag, self._left = Signal(sequence, name="lag"), Signal(sequence, name="left")
        super().__init__(
            {
                "message": In(message_signature(spec)).array(ports),
                "late": In(ports),
                "early": In(ports),
                "event_key": In(data.ArrayLayout(key, ports)),
                "event_taken": Out(ports),
                "clear": In(1),
                "clear_key": In(key),
                "clear_done": Out(1),
                "phase": Out(max(1, (protocol.phases - 1).bit_length())),
                "inputs": In(data.ArrayLayout(flow, ports)),
                "outputs": In(data.ArrayLayout(flow, ports)),
                "key": Out(key),
                "due": In(data.ArrayLayout(sequence, ports)),
                "write": Out(ports),
                "number": Out(sequence),
                "ready": Out(1),
                "reply": Out(message_stream(spec)).array(ports),
                "gone_back": Out(ports),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        protocol, ports = self.spec.protocol, self.spec.ports
        sequence = protocol.fields(ports)["sequence"]
        flows = protocol.phases + ports
        acked = m.submodules.acked = Memory(
            shape=data.ArrayLayout(sequence, ports), depth=flows, init=[]
        )
        read, write = acked.read_port(), acked.write_port(granularity=1)
        case = self._pick(m)
        mine = Signal(ports)
        source, destination = Signal.like(case.peer), Signal.like(case.peer)
        m.d.comb += [
            mine.eq(1 << case.port),
            source.eq(Mux(case.from_input, case.port, case.peer)),
            destination.eq(Mux(case.from_input, case.peer, case.port)),
            # Inputs know unicasts by their destinations, outputs by their sources.
            self.key.eq(Mux(case.online, protocol.online + destination, case.phase)),
            read.addr.eq(Mux(case.online, protocol.online + source, case.phase)),
            read.en.eq(1),
            write.addr.eq(read.addr),
            self.phase.eq(case.phase),
        ]
        inputs, outputs, due, known = self._gather(m, case, mine, read.data)
        window = protocol.window_packets
        # By how much each output's ack is behind; one that is ahead was got before going back.
        lags = [Signal(sequence, name=f"lag_{k}") for k in range(ports)]
        for k, lag in enumerate(lags):
            behind = Signal(sequence, name=f"behind_{k}")
            m.d.comb += behind.eq(due - read.data[k])
            m.d.sync += lag.eq(Mux(outputs[k] & (behind <= window), behind, 0))
        ahead, moved = Signal(sequence), Signal()
        m.d.comb += ahead.eq(case.number - known)
        m.d.sync += moved.eq((case.kind == Kind.ACK) & (ahead != 0) & (ahead <= window))
        left = Signal(sequence)  # by how much the ack that came is behind
        m.d.comb += left.eq(due - case.number)
        m.d.sync += [
            self._lag.eq(_largest(m, "before", lags)),
            self._left.eq(
                _largest(
                    m,
                    "after",
                    [
                        Mux(moved & mine[k], Mux(left <= window, left, 0), lag)
                        for k, lag in enumerate(lags)
                    ],
                )
            ),
        ]
        self._serve(m, case, mine, inputs, lags, due, moved & (outputs & mine).any(), write)
        return m

    def _pick(self, m: Module) -> data.View:
        """Take the next message or event; ports take turns."""
        spec, ports = self.spec, self.spec.ports
        shape = _case_layout(spec)
        case = Signal(shape)
        offers: list[Value] = []
        there: list[Value] = []
        taken = Signal(2 * ports)
        for k, message in enumerate(self.message):
            queue = place(m, f"messages_{k}", Fifo(shape=message_layout(spec), depth=QUEUED))
            told, said = Signal(shape, name=f"told_{k}"), queue.o.payload
            m.d.comb += [
                queue.i.valid.eq(message.valid),
                queue.i.payload.eq(message.payload),
                queue.o.ready.eq(taken[k]),
                told.kind.eq(said.kind),
                told.from_input.eq(said.kind == Kind.ASK),
                told.late.eq(said.kind == Kind.ASK),
                told.nacks.eq(said.kind == Kind.ASK),
                told.online.eq(said.phase == spec.protocol.online),
                told.phase.eq(said.phase),
                told.peer.eq(said.peer),
                told.number.eq(said.sequence),
                told.port.eq(k),
            ]
            offers.append(told)
            there.append(queue.o.valid)
        for k, key in enumerate(self.event_key):
            told = Signal(shape, name=f"event_{k}")
            online = Signal(name=f"event_{k}_online")
            m.d.comb += [
                online.eq(key > spec.protocol.phases - 1),
                told.kind.eq(Kind.ASK),
                told.from_input.eq(1),
                told.late.eq(self.late[k]),
                told.nacks.eq(self.early[k]),
                told.online.eq(online),
                told.phase.eq(Mux(online, spec.protocol.online, key)),
                told.peer.eq(key - spec.protocol.online),
                told.port.eq(k),
                self.event_taken[k].eq(taken[ports + k]),
            ]
            offers.append(told)
            there.append(self.late[k] | self.early[k])
        recent, waiting = Signal(2 * ports), Signal(2 * ports)
        m.d.comb += waiting.eq(Cat(there))
        chosen = round_robin(m, "turn", waiting, recent)
        m.d.comb += self._found.eq(waiting.any())
        with m.If(self._picks):
            m.d.comb += taken.eq(chosen)
            m.d.sync += [recent.eq(chosen), case.as_value().eq(one_hot_mux(chosen, offers))]
        return case

    def _gather(
        self, m: Module, case: data.View, mine: Value, acked: data.View
    ) -> tuple[Signal, Signal, Signal, Signal]:
        """Return the flow's inputs and outputs, what is due of it, and the port's last ack."""
        ports = self.spec.ports
        sequence = len(self.number)
        own, other, first = Signal.like(self.inputs[0]), Signal(ports), Signal(ports)
        in_flow, out_flow = Signal(ports), Signal(ports)
        m.d.comb += [
            own.eq(
                Mux(
                    case.from_input,
                    one_hot_mux(mine, list(self.inputs)),
                    one_hot_mux(mine, list(self.outputs)),
                )
            ),
            other.eq(1 << case.peer),
            in_flow.eq(Cat(flow == own for flow in self.inputs)),
            out_flow.eq(Cat(flow == own for flow in self.outputs)),
        ]
        inputs, outputs = Signal(ports, name="inputs_of"), Signal(ports, name="outputs_of")
        with m.If(case.online):
            m.d.comb += [
                inputs.eq(Mux(case.from_input, mine, other)),
                outputs.eq(Mux(case.from_input, other, mine)),
            ]
        with m.Elif(own != 0):
            m.d.comb += [inputs.eq(in_flow), outputs.eq(out_flow)]
        # All inputs of a flow have the same number due.
        m.d.comb += first.eq(first_of(inputs))
        kept_inputs, kept_outputs = Signal(ports), Signal(ports)
        due, known = Signal(sequence), Signal(sequence)
        with m.If(self._gathers):
            m.d.sync += [
                kept_inputs.eq(inputs),
                kept_outputs.eq(outputs),
                due.eq(one_hot_mux(first, list(self.due))),
                known.eq(one_hot_mux(mine, list(acked))),
            ]
        return kept_inputs, kept_outputs, due, known

    def _serve(
        self,
        m: Module,
        case: data.View,
        mine: Value,
        inputs: Value,
        lags: list[Signal],
        due: Value,
        moved: Value,
        write: Any,
    ) -> None:
        """Go through the steps of a case, and say what follows from it."""
        spec, protocol, ports = self.spec, self.spec.protocol, self.spec.ports
        flows = protocol.phases + ports
        kind, number = Signal(message_layout(spec)["kind"].shape), Signal.like(self.number)
        targets, zero = Signal(ports), Signal()
        back, walk = Signal.like(self.number), Signal(range(flows))
        # All outputs may ask for the same packet: they are obeyed once.
        again, recent = Signal(), Signal(range(protocol.patience_cycles // 2 + 1))
        last_key, last_number = Signal.like(self.key), Signal.like(self.number)
        m.d.comb += again.eq((recent != 0) & (last_key == self.key) & (last_number == case.number))
        with m.If(recent != 0):
            m.d.sync += recent.eq(recent - 1)
        m.d.comb += [
            back.eq(due - case.number),
            self.number.eq(Mux(zero, 0, case.number)),
            write.data.as_value().eq(self.number.replicate(ports)),
        ]

        def start_at_0(key: Value) -> None:
            m.d.comb += [
                zero.eq(1),
                self.key.eq(key),
                self.write.eq((1 << ports) - 1),
                write.addr.eq(key),
                write.en.eq((1 << ports) - 1),
            ]

        fsm = Fsm(
            m, "reset", "pick", "look", "gather", "compare", "measure", "serve", "answer", "ask"
        )
        m.d.comb += self.ready.eq(~fsm.ongoing("reset"))
        with fsm.state("reset"):
            start_at_0(walk)
            m.d.sync += walk.eq(walk + 1)
            with m.If(walk == flows - 1):
                fsm.go("pick")
        with fsm.state("pick"):
            with m.If(self.clear & ~self.clear_done):
                start_at_0(self.clear_key)
                m.d.sync += self.clear_done.eq(1)
            with m.Else():
                m.d.sync += self.clear_done.eq(0)
                m.d.comb += self._picks.eq(self._found)
                with m.If(self._found):
                    fsm.go("look")
        with fsm.state("look"):
            fsm.go("gather")  # memories are read
        with fsm.state("gather"):
            m.d.comb += self._gathers.eq(1)
            fsm.go("compare")
        with fsm.state("compare"):
            fsm.go("measure")
        with fsm.state("measure"):
            fsm.go("serve")
        with fsm.state("serve"):
            fsm.go("pick")
            with m.If(case.from_input):
                # A source with late packets comes to the one that is due by itself.
                said = Mux(case.nacks, mine & inputs, 0)
                m.d.comb += [targets.eq(said), kind.eq(Kind.NACK), number.eq(due)]
                with m.If(case.late):
                    fsm.go("answer")
            with m.Elif(case.kind == Kind.ACK):
                news = moved & (self._left < self._lag)
                m.d.comb += [
                    write.en.eq(mine & moved.replicate(ports)),
                    targets.eq(inputs & news.replicate(ports)),
                    kind.eq(Kind.ACK),
                    number.eq(due - self._left),
                ]
            with m.Elif((back != 0) & (back <= self._lag) & ~again):
                m.d.sync += [
                    last_key.eq(self.key),
                    last_number.eq(case.number),
                    recent.eq(protocol.patience_cycles // 2),
                ]
                m.d.comb += [
                    self.write.eq(inputs),
                    self.gone_back.eq(inputs),
                    targets.eq(inputs),
                    kind.eq(Kind.NACK),
                    number.eq(case.number),
                ]
        with fsm.state("answer"):
            m.d.comb += [targets.eq(mine & inputs), kind.eq(Kind.ACK), number.eq(due - self._lag)]
            fsm.go("ask")
        with fsm.state("ask"):
            m.d.comb += [targets.eq(Cat(lag != 0 for lag in lags)), kind.eq(Kind.ASK)]
            fsm.go("pick")
        self._reply(m, case, mine, targets, kind, number)

    def _reply(
        self, m: Module, case: data.View, mine: Value, targets: Value, kind: Value, number: Value
    ) -> None:
        """Queue a message for each of the ports that it is for."""
        peer = Signal.like(case.peer)
        # To a source goes the destination, to a destination the source: the other end of the flow.
        m.d.comb += peer.eq(0)
        with m.If(case.online):
            m.d.comb += peer.eq(Mux((targets & mine).any(), case.peer, case.port))
        for k, reply in enumerate(self.reply):
            queue = place(m, f"replies_{k}", Fifo(shape=message_layout(self.spec), depth=QUEUED))
            wiring.connect(m, queue.o, wiring.flipped(reply))
            m.d.comb += [
                queue.i.valid.eq(targets[k]),
                queue.i.payload.kind.eq(kind),
                queue.i.payload.phase.eq(case.phase),
                queue.i.payload.peer.eq(peer),
                queue.i.payload.sequence.eq(number),
            ]


def _case_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return what is served: a message or event of a port, about a flow."""
    fields = spec.protocol.fields(spec.ports)
    return data.StructLayout(
        {
            "kind": fields["kind"],
            "from_input": 1,
            "late": 1,
            "nacks": 1,
            "online": 1,
            "phase": fields["phase"],
            "peer": fields["peer"],
            "number": fields["sequence"],
            "port": fields["peer"],
        }
    )


def _largest(m: Module, name: str, values: Sequence[Value]) -> Value:
    """Return the largest of some numbers, by a tree of comparisons."""
    level = 0
    while len(values) > 1:
        pairs = [values[k : k + 2] for k in range(0, len(values), 2)]
        values = []
        for k, pair in enumerate(pairs):
            winner = Signal.like(pair[0], name=f"{name}_{level}_{k}")
            m.d.comb += winner.eq(pair[0] if len(pair) == 1 else Mux(pair[0] > pair[1], *pair))
            values.append(winner)
        level += 1
    return values[0]
