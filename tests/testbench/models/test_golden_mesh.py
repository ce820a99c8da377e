"""Tests of testbench.models.golden_mesh."""

from dataclasses import replace

import numpy as np
import pytest

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, exchange
from testbench.models.golden_mesh import carry_out, contributions


def ring(operation: str, rank: int, flits: int, place: int = 0) -> Descriptor:
    """Return a member's part of a ring of three, NPUs 0, 2 and 1 in this order."""
    order = (0, 2, 1)
    return Descriptor(
        operation=operation,
        circuit="dp",
        source=Buffer(place, flits),
        destination=Buffer(10, flits),
        send=FlowId(order[(rank + 1) % 3], unicast=True),
        receive=FlowId(order[rank - 1], unicast=True),
        ring=Ring(members=3, rank=rank, message_bytes=1),
    )


def join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Put what comes in before what is there, as digits: sums show who added to what."""
    return a * 10 + b


def memories() -> list[np.ndarray]:
    return [np.full(20, npu + 1) for npu in range(3)]


def carried(operation: str, flits: int, place: int = 0) -> list[list[int]]:
    jobs = {npu: [ring(operation, (0, 2, 1)[npu], flits, place)] for npu in range(3)}
    return [one[10:].tolist() for one in carry_out(jobs, memories(), 1, join)]


def test_ring_adds_from_the_member_behind_on() -> None:
    """NPUs 1, 3 and 2 by their numbers, in blocks of two, the last one shorter."""
    sums = [321, 321, 213, 213, 132]
    assert carried("all_reduce", 5) == [[*sums, k, k, k, k, k] for k in (1, 2, 3)]
    first, second, third = carried("reduce_scatter", 5)
    assert first == [321, 321, *[1] * 8]
    assert third == [3, 3, 213, 213, *[3] * 6]
    assert second == [*[2] * 4, 132, *[2] * 5]


def test_gathered_blocks_are_those_of_each_in_the_order_of_the_ring() -> None:
    whole = [1, 1, 3, 3, 2, 2]
    assert [one[:6] for one in carried("all_gather", 6)] == [whole] * 3


def test_exchanges_wait_for_the_one_before() -> None:
    """NPU 1 hands on what came to it; on one circuit, in order."""
    jobs = {
        0: [exchange("pp", (Buffer(0, 2), FlowId(1, unicast=True)))],
        1: [
            exchange("pp", None, (Buffer(4, 2), FlowId(0, unicast=True))),
            exchange("pp", (Buffer(4, 2), FlowId(2, unicast=True))),
        ],
        2: [exchange("pp", None, (Buffer(6, 2), FlowId(1, unicast=True)))],
    }
    after = carry_out(jobs, memories(), 1, join)
    assert after[2].tolist() == [3] * 6 + [1] * 2 + [3] * 12
    waits = r"^jobs must come to an end, not wait for ever at \[\(0, 'mp'\), \(1, 'pp'\), .*\]$"
    with pytest.raises(ValueError, match=waits):
        carry_out({**jobs, 0: [replace(jobs[0][0], circuit="mp")]}, memories(), 1, join)


def test_what_comes_twice_is_reported() -> None:
    assert contributions(np.array([1, 4]), np.array([2, 8])).tolist() == [3, 12]
    with pytest.raises(ValueError, match=r"^a contribution must come once, not twice$"):
        contributions(np.array([1, 4]), np.array([2, 5]))
