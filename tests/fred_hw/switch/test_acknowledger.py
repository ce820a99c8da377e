"""Contract of fred_hw.switch.acknowledger, cycle by cycle."""

from collections import deque
from typing import Any

import pytest

from fred_hw.protocol import Kind, ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.acknowledger import Acknowledger
from tests.fred_hw.simulation import known, simulate, trace
from tests.fred_hw.specs import LINK

QUEUED = 8
"""Messages in a queue: an ack and a nack per urgency class, and two."""

ONLINE, FLOWS = LINK.protocol.online, LINK.protocol.phases
# In every phase a flow goes from port 0 to ports 1 and 2; packet 3 is due.
ENTRY = {f"flows.entry.{side}": 1 for side in ("inputs[0]", "outputs[1]", "outputs[2]")}
ENTRY |= {f"due[{k}].due": 3 for k in range(4)} | {f"reply[{k}].ready": 1 for k in range(4)}
SAID = ("valid", "payload.kind", "payload.sequence")
REPLIES = [f"reply[{k}].{name}" for k in range(4) for name in SAID]
WRITES = [f"due[{k}].write" for k in range(4)]
ORDER = [f"due[0].{name}" for name in ("at", "number", "generation")]


def message(port: int, kind: Kind, sequence: int = 0, phase: int = 1) -> dict:
    path = f"message[{port}]"
    values = {"kind": int(kind), "phase": phase, "sequence": sequence}
    return {f"{path}.valid": 1} | {f"{path}.payload.{name}": v for name, v in values.items()}


def run(cycles: list[dict[str, int]], watch: list[str], spec: SwitchSpec = LINK) -> list[Any]:
    """Return what shows once it is ready and the last number is 0."""
    reset = [ENTRY] * (FLOWS + 1)
    inputs = [*reset, *(ENTRY | cycle for cycle in cycles)]
    return trace(Acknowledger(spec=spec), inputs, watch)[len(reset) :]


def told(cycles: list[dict[str, int]]) -> list[tuple[int, int, Kind, int]]:
    """Return cycle, port, kind and number of each reply."""
    found = []
    for cycle, replies in enumerate(run(cycles, REPLIES)):
        for port in range(4):
            valid, kind, number = replies[3 * port : 3 * port + 3]
            if valid:
                found.append((cycle, port, Kind(kind), number))
    return found


IDLE = [{}] * 12


def test_latency_from_a_message_to_the_first_that_it_causes() -> None:
    assert told([message(1, Kind.NACK, 1), *IDLE]) == [(7, 0, Kind.NACK, 1)]


def test_the_smallest_ack_of_all_outputs_goes_to_the_input_once() -> None:
    first, second = message(1, Kind.ACK, 2), message(2, Kind.ACK, 1)
    assert told([first, *IDLE]) == []
    assert told([first, second, *IDLE]) == [(13, 0, Kind.ACK, 1)]
    assert told([first, second, *IDLE, second, *IDLE]) == [(13, 0, Kind.ACK, 1)]


def test_throughput_is_a_message_in_six_cycles_and_an_answered_one_in_eight() -> None:
    acks = [message(1, Kind.ACK, n) | message(2, Kind.ACK, n) for n in (1, 2)]
    assert [cycle for cycle, *_ in told([*acks, *IDLE, *IDLE])] == [13, 25]
    asks = [message(0, Kind.ASK)] * 2
    answers = told([*asks, *IDLE, *IDLE])
    assert [cycle for cycle, port, kind, _ in answers if kind == Kind.NACK] == [7, 15]


def test_an_ask_is_answered_and_goes_to_outputs_that_lack_acks() -> None:
    assert told([message(1, Kind.ACK, 3), *IDLE, message(0, Kind.ASK), *IDLE]) == [
        (20, 0, Kind.NACK, 3),
        (21, 0, Kind.ACK, 0),
        (22, 2, Kind.ASK, 0),
    ]


@pytest.mark.parametrize(("timeout", "cycles"), [(12, [6]), (10, [6, 12])])
def test_a_nack_sends_all_inputs_back_but_not_again_soon(timeout: int, cycles: list[int]) -> None:
    both = message(1, Kind.NACK, 2) | message(2, Kind.NACK, 2)
    protocol = LINK.protocol.model_dump() | {"packet_timeout_cycles": timeout}
    watch = ["retransmit", *WRITES, *ORDER]
    found = run([both, *IDLE, *IDLE], watch, LINK.with_changes(protocol=protocol))
    assert [(cycle, word[0]) for cycle, word in enumerate(found) if word[0]] == [
        (cycle, 1) for cycle in cycles
    ]
    # The number is written in the cycle behind.
    writes = [(cycle, *word[1:]) for cycle, word in enumerate(found) if any(word[1:5])]
    assert writes == [(cycle + 1, 1, 0, 0, 0, 1, 2, 0) for cycle in cycles]


@pytest.mark.parametrize(("number", "obeyed"), [(0, False), (1, True), (2, True), (3, False)])
def test_a_nack_is_obeyed_from_the_smallest_ack_on(number: int, obeyed: bool) -> None:
    """Sources keep all packets from there to the one that is due, which is 3."""
    acks = message(1, Kind.ACK, 1) | message(2, Kind.ACK, 2)
    found = told([acks, *IDLE, *IDLE, message(1, Kind.NACK, number), *IDLE])
    nacks = [(port, told) for _, port, kind, told in found if kind == Kind.NACK]
    assert nacks == ([(0, number)] if obeyed else [])


def test_a_nack_is_written_in_the_cycle_in_which_its_sources_are_reported() -> None:
    # From ports 0 and 3 to port 1: both have the same number due from then on.
    entry = {"flows.entry.inputs[3]": 1, "flows.entry.generation": 5}
    nack = message(1, Kind.NACK, 2) | {"message[1].payload.generation": 5}
    watch = [*WRITES, *(f"due[3].{name}" for name in ("at", "number", "generation"))]
    found = run(
        [one | entry for one in [nack, *IDLE]], [*watch, "reply[0].valid", "reply[3].valid"]
    )
    seen = [(cycle, word) for cycle, word in enumerate(found) if any(word[:4]) or any(word[-2:])]
    assert seen == [(7, (1, 0, 0, 1, 1, 2, 5, 1, 1))]


def test_the_number_that_is_due_is_read_a_cycle_after_its_flow() -> None:
    asked = message(0, Kind.ASK)
    others = {f"due[{k}].due": 7 for k in range(4)}
    # Two cycles behind the message its flow is looked up, so the number is there in the next.
    right = {"due[0].due": 2}
    cycles = [asked | others, others, others, others | right, *[others] * 12]
    found = run(cycles, ["due[0].key", "reply[0].valid", "reply[0].payload.sequence"])
    assert [word[0] for word in found[2:7]] == [1] * 5
    # The smallest ack is that of number 0, and told behind it.
    assert [(cycle, *word[1:]) for cycle, word in enumerate(found) if word[1]] == [
        (7, 1, 2),
        (8, 1, 0),
    ]


@pytest.mark.parametrize("number", [3, 4])
def test_a_nack_of_what_is_due_or_later_changes_nothing(number: int) -> None:
    assert told([message(1, Kind.NACK, number), *IDLE]) == []


UNICAST = {"phase": ONLINE, "destination": 127, "source": 96}


def about_unicast(port: int, kind: Kind, exit_port: int) -> dict[str, int]:
    """Return a message about a unicast that comes at a port and leaves by another."""
    flow = {f"message[{port}].payload.{name}": value for name, value in UNICAST.items()}
    return message(port, kind, 9) | flow | {f"exits[{port}]": exit_port}


@pytest.mark.parametrize("kind", [Kind.ACK, Kind.NACK, Kind.ASK])
def test_latency_of_a_message_about_a_unicast_is_three_cycles_and_it_stays_as_it_is(
    kind: Kind,
) -> None:
    names = ("kind", "sequence", *UNICAST)
    watch = [f"reply[2].payload.{name}" for name in names]
    # The entry is of no account.
    cycles = [about_unicast(3, kind, 2), *[{"flows.entry.generation": 5}] * 12]
    assert told(cycles) == [(3, 2, kind, 9)]
    assert run(cycles, watch)[3] == (kind, 9, *UNICAST.values())
    assert not any(any(word) for word in run(cycles, [*WRITES, "retransmit"]))


def test_throughput_of_messages_about_unicasts_is_one_in_two_cycles() -> None:
    both = about_unicast(1, Kind.ACK, 2) | about_unicast(3, Kind.NACK, 2)
    seen = told([both, both, *IDLE])
    assert [(cycle, kind) for cycle, _, kind, _ in seen] == [
        (3, Kind.ACK),
        (5, Kind.NACK),
        (7, Kind.ACK),
        (9, Kind.NACK),
    ]


@pytest.mark.parametrize(("event", "kinds"), [("late", ["ACK", "ASK", "ASK"]), ("early", ["NACK"])])
def test_events_are_answered(event: str, kinds: list[str]) -> None:
    there = {f"event[0].{event}": 1, "event[0].key": 1}
    assert [kind.name for _, _, kind, _ in told([there, *IDLE])] == kinds


def test_an_event_is_taken_in_the_next_cycle_if_nothing_else_is_to_be_done() -> None:
    late = {"event[3].late": 1, "event[3].key": 1}
    restart = {"restart.valid": 1}
    cycles = [late, *IDLE, late | restart, late | restart, late, {}]
    found = run(cycles, ["event[3].taken", "restart.ready"])
    taken = [cycle for cycle, word in enumerate(found) if word[0]]
    assert taken == [1, len(cycles) - 1]


def test_a_flow_starts_at_0_again_before_its_entry_is_written() -> None:
    restart = {"restart.valid": 1, "restart.payload.key": 2, "restart.payload.generation": 3}
    # What a message said before is of no account.
    cycles = [message(1, Kind.NACK, 2), *IDLE, restart, restart, {}]
    found = run(cycles, ["restart.ready", *WRITES, *ORDER])[-3:]
    assert found[1] == (1, 1, 1, 1, 1, 2, 0, 3)
    assert [found[k][:5] for k in (0, 2)] == [(0, 0, 0, 0, 0)] * 2


def test_throughput_is_none_in_the_two_cycles_of_a_restart() -> None:
    restart = {"restart.valid": 1, "restart.payload.key": 2}
    nack = message(1, Kind.NACK, 1)
    # It is there to be picked in the cycle behind, in which the restart comes.
    assert told([nack, restart, restart, *IDLE]) == [(7 + 2, 0, Kind.NACK, 1)]
    # One that was picked before goes on, and the restart waits until it has been served.
    found = run([nack, {}, *[restart] * 7, *IDLE], ["restart.ready", "reply[0].valid"])
    seen = [(cycle, *word) for cycle, word in enumerate(found) if any(word)]
    assert seen == [(7, 0, 1), (8, 1, 0)]


def test_flows_start_in_their_generation_and_keep_it() -> None:
    nack = message(1, Kind.NACK, 2) | {"message[1].payload.generation": 5}
    entry = {"flows.entry.generation": 5}
    restart = {"restart.valid": 1, "restart.payload.generation": 6}
    found = run([restart, nack | entry, *[entry] * 8], [*WRITES, "due[0].generation"])
    assert [(cycle, word[4]) for cycle, word in enumerate(found) if word[0]] == [(1, 6), (8, 5)]


@pytest.mark.parametrize("kind", [Kind.ACK, Kind.NACK, Kind.ASK])
def test_a_message_of_another_generation_changes_nothing(kind: Kind) -> None:
    port = int(kind != Kind.ASK)
    entry = {"flows.entry.generation": 5, "flows.entry.outputs[2]": 0}
    for generation, answered in ((5, True), (4, False), (6, False)):
        said = message(port, kind, 2) | {f"message[{port}].payload.generation": generation}
        cycles = [one | entry for one in [said, *IDLE]]
        watch = [f"reply[{k}].{name}" for k in range(2) for name in ("valid", "payload.generation")]
        found = run(cycles, [*watch, *WRITES])
        told = {word[2 * k + 1] for word in found for k in range(2) if word[2 * k]}
        assert told == ({5} if answered else set())
        assert any(any(word[4:]) for word in found) == (answered and kind == Kind.NACK)


def test_throughput_is_a_message_of_another_generation_in_three_cycles() -> None:
    old = message(1, Kind.NACK, 2) | {"message[1].payload.generation": 1}
    # It is the fourth one, behind three that change nothing.
    cycles = [old, old, old, message(1, Kind.NACK, 2), *IDLE, *IDLE]
    assert [cycle for cycle, *_ in told(cycles)] == [7 + 3 * 3]


def test_a_case_is_not_picked_before_the_entry_is_written() -> None:
    # The entry is another from the cycle behind that of ready on, when the table has written it.
    restart = {"restart.valid": 1, "restart.payload": 1}
    old = message(1, Kind.ACK, 3)
    written = {"flows.entry.generation": 1}
    cycles = [old, restart, restart, {}, *[written] * 12]
    watch = ["reply[0].valid"]
    assert not any(run(cycles, watch))


def test_reset_starts_all_numbers_at_0_a_phase_per_cycle() -> None:
    watch = ["ready", *WRITES, *ORDER]
    once = [*[ENTRY] * (FLOWS + 3), ENTRY | {"rst": 1}]
    # Another reset is no different, even in the middle.
    for inputs in (once, [*[ENTRY] * 3, ENTRY | {"rst": 1}, *once]):
        found = trace(Acknowledger(spec=LINK), inputs, watch)[-len(once) :]
        assert found[0] == (0, 0, 0, 0, 0, 0, 0, 0)
        # It is ready in the cycle in which the last number is written.
        assert found[1 : FLOWS + 1] == [
            (int(flow == FLOWS - 1), 1, 1, 1, 1, flow, 0, 0) for flow in range(FLOWS)
        ]
        assert [word[:5] for word in found[FLOWS + 1 :]] == [(1, 0, 0, 0, 0)] * 3


def test_acks_that_come_faster_than_they_are_served_are_not_lost() -> None:
    burst = [message(1, Kind.ACK, n) | message(2, Kind.ACK, n) for n in [1] * 8 + [2] * 8 + [3]]
    burst += IDLE * 3
    assert told(burst)[-1][1:] == (0, Kind.ACK, 3)
    assert not any(run(burst, ["lost"]))


@pytest.mark.parametrize("stalled", [False, True])
def test_messages_of_more_flows_than_are_kept_are_lost_and_told(stalled: bool) -> None:
    if stalled:
        # An early packet of each phase in each generation: what is said waits at port 0.
        wait = {"reply[0].ready": 0}
        cycles: list[dict[str, int]] = []
        for k in range(QUEUED + 1):
            event = {"event[0].early": 1, "event[0].key": k % 4, "flows.entry.generation": k // 4}
            cycles += [event | wait] + [{"flows.entry.generation": k // 4} | wait] * 6
        cycles += [wait] * 4
    else:
        cycles = [message(3, Kind.ACK, 0, k % 4) for k in range(2 * QUEUED)]
        cycles = [
            one | {"message[3].payload.generation": k // 4} for k, one in enumerate(cycles)
        ] + IDLE
    lost = [(cycle, ports) for cycle, ports in enumerate(run(cycles, ["lost"])) if ports]
    if stalled:
        # Seven cycles behind the event whose answer is one too many.
        assert lost == [(7 * QUEUED + 7, 1 << 0)]
    else:
        # Two cycles behind the message: two are served before that of cycle 10 comes, and another
        # one before that of cycle 13.
        assert lost == [(cycle + 2, 1 << 3) for cycle in (10, 11, 12, 14, 15)]


CROSSING, THROUGH, CROWD = 24, 25, 24
"""Cycles of a link, cycles from a start to its first flit at a port's link, ports."""


class Neighbours:
    """NPUs at all ports, in an all-reduce at full load: each packet is of all and goes to all.

    All sources do the same in the same cycle, and so do all destinations, which is the most that
    can come at once: port 0 stands for each of them.
    """

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec, self.unit = spec, known(Acknowledger(spec=spec))
        self.sent = self.acked = self.lost = self.slowest = 0
        self._says = False
        self._begun: deque[tuple[int, int]] = deque()
        self._acks: deque[tuple[int, int]] = deque()
        self._told: deque[tuple[int, int]] = deque()
        self._open: deque[tuple[int, int]] = deque()

    def rate(self, cycles: int) -> float:
        """Return the flits that each sends in a cycle, half of the cycles apart."""
        halves: list[int] = []

        async def bench(ctx: Any) -> None:
            for k in range(self.spec.ports):
                for side in (self.unit.flows.entry.inputs, self.unit.flows.entry.outputs):
                    ctx.set(side[k], 1)
                ctx.set(self.unit.reply[k].ready, 1)
            await ctx.tick().repeat(self.spec.protocol.phases + 3)
            for cycle in range(cycles):
                self._send(cycle)
                self._receive(ctx, cycle)
                await ctx.tick()
                self._listen(ctx, cycle)
                if cycle in (cycles // 2 - 1, cycles - 1):
                    halves.append(self.sent)

        simulate(self.unit, bench)
        return (halves[1] - halves[0]) * self.spec.protocol.packet_flits / (cycles - cycles // 2)

    def _send(self, cycle: int) -> None:
        """Begin a packet behind the one before, if the window lasts."""
        protocol = self.spec.protocol
        while self._told and self._told[0][0] <= cycle:
            self.acked = self._told.popleft()[1]
        free = self._begun[-1][0] + protocol.packet_flits - CROSSING if self._begun else 0
        if cycle >= free and self.sent < self.acked + protocol.window_packets:
            self.sent += 1
            self._begun.append((cycle + CROSSING, self.sent))

    def _receive(self, ctx: Any, cycle: int) -> None:
        """Start packets that have come, and say acks of those that have left."""
        protocol, online = self.spec.protocol, range(self.spec.ports)
        for began, number in self._begun:
            if began == cycle:
                for k in online:
                    ctx.set(self.unit.due[k].due, number % 256)
                if number % protocol.ack_interval == 0:
                    away = THROUGH + protocol.packet_flits + 2 * CROSSING
                    self._acks.append((cycle + away, number))
        while len(self._begun) > 1 and self._begun[0][0] <= cycle:
            self._begun.popleft()
        says = bool(self._acks) and self._acks[0][0] == cycle
        for k in online if says or self._says else ():
            message = self.unit.message[k]
            ctx.set(message.valid, says)
            if says:
                ctx.set(message.payload.kind, int(Kind.ACK))
                ctx.set(message.payload.sequence, self._acks[0][1] % 256)
        if says:
            self._open.append(self._acks.popleft())
        self._says = says

    def _listen(self, ctx: Any, cycle: int) -> None:
        """Take what a source is told."""
        self.lost += ctx.get(self.unit.lost) != 0
        said = self.unit.reply[0]
        if ctx.get(said.valid) and ctx.get(said.payload.kind) == Kind.ACK:
            before = self._told[-1][1] if self._told else self.acked
            number = before + (ctx.get(said.payload.sequence) - before) % 256
            self._told.append((cycle + CROSSING, number))
            while self._open and self._open[0][1] <= number:
                self.slowest = max(self.slowest, cycle - self._open.popleft()[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interval", "slowest", "rate"),
    [(16, 2, 0.94), pytest.param(19, 1, 0.99, marks=pytest.mark.long)],
)
def test_acks_of_more_ports_than_it_keeps_up_with_come_late_but_come(
    interval: int, slowest: int, rate: float
) -> None:
    # 6 x 24 cycles for the acks of all ports, which come every 8 x 16, or every 8 x 19.
    protocol = ProtocolSpec(ack_interval=interval, phases=1)
    spec = SwitchSpec(ports=CROWD, lanes=1, format="int8", protocol=protocol)
    neighbours = Neighbours(spec)
    assert neighbours.rate(3000) > rate
    assert neighbours.lost == 0
    # Each within as many times 6 x ports, and the cycles in the queues and of the answer.
    assert (slowest - 1) * 6 * CROWD < neighbours.slowest <= slowest * 6 * CROWD + 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ports", "flits", "rate"),
    [
        (24, 8, 0.99),
        pytest.param(32, 8, 0.99, marks=pytest.mark.long),
        # The window of 64 packets ends before all acks of an interval are served.
        pytest.param(48, 8, 0.76, marks=pytest.mark.long),
        pytest.param(64, 8, 0.65, marks=pytest.mark.long),
        pytest.param(48, 16, 0.99, marks=pytest.mark.long),
        pytest.param(64, 16, 0.99, marks=pytest.mark.long),
    ],
)
def test_acks_of_auto_keep_the_rate_that_is_said(ports: int, flits: int, rate: float) -> None:
    sizes = ProtocolSpec(packet_flits=flits, phases=1)
    spec = SwitchSpec(ports=ports, lanes=1, format="int8", protocol=sizes)
    neighbours = Neighbours(spec)
    found = neighbours.rate(1600)
    assert found > rate
    assert abs(found - sizes.acked_rate(ports, spec.protocol.ack_interval)) < 0.02
    assert neighbours.lost == 0
