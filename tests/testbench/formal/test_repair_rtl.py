"""What the switch of the model of repairs answers is what the hardware answers."""

import random
from collections import Counter

import pytest

from fred_hw.protocol import Kind
from fred_hw.switch.acknowledger import Acknowledger
from testbench.formal.repair import Case, Switch, answered
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

PORTS, WINDOW, PHASE = range(LINK.ports), LINK.protocol.window_packets, 1
APART = LINK.protocol.packet_timeout_cycles + 14
"""Cycles from case to case, after which a repeated nack counts again."""
OUTPUTS = (1, 2)
"""Ports of the outputs of the flow; its only source is port 0."""

Told = list[tuple[int, Kind, int]]


def inputs_of(case: Case) -> dict[str, int]:
    """Return the inputs of the acknowledger in the cycle of a case."""
    if case.kind in ("late", "early"):
        return {f"event[0].{case.kind}": 1, "event[0].key": PHASE}
    path = f"message[{OUTPUTS[case.output]}]"
    kind = {"ack": Kind.ACK, "nack": Kind.NACK}[case.kind]
    values = {"kind": int(kind), "phase": PHASE, "sequence": case.number}
    return {f"{path}.valid": 1} | {f"{path}.payload.{name}": v for name, v in values.items()}


def hardware(steps: list[tuple[int, Case]]) -> list[Told]:
    """Return port, kind and number of the replies to each case, with what is due then."""
    entry = {f"flows.entry.{side}": 1 for side in ("inputs[0]", "outputs[1]", "outputs[2]")}
    entry |= {f"reply[{k}].ready": 1 for k in PORTS}
    inputs = [entry] * (LINK.protocol.phases + 1)
    for due, case in steps:
        now = entry | {f"due[{k}].due": due for k in PORTS}
        inputs += [now | inputs_of(case), *[now] * (APART - 1)]
    names = ("valid", "payload.kind", "payload.sequence")
    watch = [f"reply[{k}].{name}" for k in PORTS for name in names]
    seen = trace(Acknowledger(spec=LINK), inputs, watch)[LINK.protocol.phases + 1 :]
    told: list[Told] = [[] for _ in steps]
    for cycle, word in enumerate(seen):
        for k in PORTS:
            valid, kind, number = word[3 * k : 3 * k + 3]
            if valid:
                told[cycle // APART].append((k, Kind(kind), number))
    return told


@pytest.mark.parametrize("seed", range(6))
def test_replies_are_those_of_the_acknowledger(seed: int) -> None:
    rng, switch, said = random.Random(seed), Switch(0, (0, 0)), Counter[str]()
    steps: list[tuple[int, Case]] = []
    wanted: list[Told] = []
    for _ in range(120):
        room = min(switch.acked) + WINDOW - switch.due
        switch = switch._replace(due=switch.due + rng.randint(0, max(0, room)))
        output = rng.randrange(2)
        near = max(0, switch.acked[output] + rng.randint(-1, WINDOW + 1))
        kind = rng.choice(["ack", "ack", "nack", "late", "early"])
        case = Case(kind, output, near if kind in ("ack", "nack") else 0)
        steps.append((switch.due, case))
        switch, reply = answered(switch, case, WINDOW)
        replies = [(0, Kind.NACK, reply.nack), (0, Kind.ACK, reply.ack)]
        replies = [one for one in replies if one[2] >= 0]
        replies += [(OUTPUTS[k], Kind.ASK, 0) for k in reply.asks]
        said.update(one.name for _, one, _ in replies)
        wanted.append(replies)
    assert hardware(steps) == wanted
    assert min(said[name] for name in ("ACK", "NACK", "ASK")) > 10
