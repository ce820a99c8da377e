"""Every state of a small flow that losses can reach is searched: each calm run repairs it."""

import pytest

from testbench.formal.repair import Answer, Case, Flow, Reply, Switch, answered, unrepaired

FLOWS = [
    *(Flow(1, 1, 4, packets) for packets in range(1, 9)),
    *(Flow(2, 1, 2, packets) for packets in range(1, 5)),
    *(Flow(1, 2, 2, packets) for packets in range(1, 5)),
    *(Flow(2, 2, 2, packets) for packets in (1, 2)),
]
SLOW = [Flow(2, 2, 2, 3), Flow(2, 2, 2, 4), Flow(3, 1, 2, 3), Flow(1, 3, 2, 3)]
"""Flows whose search takes more than a few seconds."""


@pytest.mark.parametrize("flow", [*FLOWS, *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW)])
def test_all_packets_arrive_after_any_loss(flow: Flow) -> None:
    reached, left = unrepaired(flow)
    assert reached > 10 * flow.packets
    assert left == []


def no_ack_of_repeats(switch: Switch, case: Case, window: int) -> tuple[Switch, Reply]:
    now, reply = answered(switch, case, window)
    return now, reply._replace(ack=-1) if case.kind == "late" else reply


def no_requests(switch: Switch, case: Case, window: int) -> tuple[Switch, Reply]:
    now, reply = answered(switch, case, window)
    return now, reply._replace(asks=())


def no_nacks_of_outputs(switch: Switch, case: Case, window: int) -> tuple[Switch, Reply]:
    return (switch, Reply()) if case.kind == "nack" else answered(switch, case, window)


@pytest.mark.parametrize("answer", [no_ack_of_repeats, no_requests, no_nacks_of_outputs])
@pytest.mark.parametrize("flow", [Flow(1, 1, 2, 2), Flow(2, 1, 2, 2), Flow(1, 2, 2, 2)])
def test_a_switch_that_leaves_out_an_answer_is_found(flow: Flow, answer: Answer) -> None:
    assert unrepaired(flow, answer)[1]


def largest_ack(switch: Switch, case: Case, window: int) -> tuple[Switch, Reply]:
    now, reply = answered(switch, case, window)
    return now, reply._replace(ack=max(now.acked)) if reply.ack >= 0 else reply


def test_a_switch_that_sends_the_largest_ack_is_found() -> None:
    assert unrepaired(Flow(1, 1, 2, 2), largest_ack)[1] == []
    assert unrepaired(Flow(1, 2, 2, 2), largest_ack)[1]
