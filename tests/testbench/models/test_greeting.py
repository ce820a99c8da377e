"""Tests of testbench.models.endpoint: ends that begin a link, and one that begins it anew."""

import random
from collections import deque

import pytest

from fred_hw.protocol import SHARED_SIZES
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Endpoint, Flit
from tests.fred_hw.specs import LINK

TIMEOUT = LINK.protocol.timeout_cycles
LENGTH = 3


class Link:
    """Two ends, and what is under way between them."""

    def __init__(self, *ends: Endpoint, faults: float = 0.0) -> None:
        self.ends, self.faults, self.rng = list(ends), faults, random.Random(1)
        self.lines = [deque[Flit | None]([None] * LENGTH) for _ in ends]
        self.gone = [0, 0]

    def step(self, cycles: int) -> None:
        for _ in range(cycles):
            came = [line.popleft() for line in self.lines]
            for k, end in enumerate(self.ends):
                flit = end.step(came[k])
                self.gone[k] += flit is not None
                lost = self.rng.random() < self.faults
                self.lines[1 - k].append(None if lost else flit)


def end(session_id: int, spec: SwitchSpec = LINK) -> Endpoint:
    return Endpoint(spec, session_id=session_id)


def test_a_link_is_up_when_both_ends_have_been_heard() -> None:
    link = Link(end(1), end(2))
    link.ends[0].send(0, 0, [(1, 2)])
    for cycles, up in ((LENGTH, False), (LENGTH + 1, True)):
        link.step(cycles)
        assert [one.up for one in link.ends] == [up, up]
    link.step(4 * LENGTH)
    assert link.ends[1].received == {(0, 0): [(1, 2)]}


@pytest.mark.parametrize("faults", [0.0, 0.3])
def test_packets_of_an_end_that_restarts_start_at_0_and_no_others_come(faults: float) -> None:
    link = Link(end(1), end(2), faults=faults)
    for session_id in range(3, 9):
        link.ends[0].send(0, 0, [(session_id, k) for k in range(5)])
        link.step(link.rng.randrange(40))
        # Here both ends give up what they had, the one as it forgets all.
        link.ends[0] = end(session_id)
        link.ends[1].forget(0, session_id % 8)
        link.ends[0].forget(0, session_id % 8)
        new = [(100 + session_id, k) for k in range(5)]
        link.ends[0].send(0, 0, new)
        link.step(200 + int(faults * 20_000))
        assert link.ends[1].received == {(0, 0): new}
        assert link.ends[0].done
        link.ends[1].forget(0, session_id % 8)
        link.ends[0].forget(0, session_id % 8)


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"protocol": LINK.protocol.model_dump() | {name: 2 * getattr(LINK.protocol, name)}}
            for name in SHARED_SIZES
        ),
        {"format": "fp16"},
        {"lanes": 2, "format": "int8"},
        {"operation": "max"},
    ],
    ids=[*SHARED_SIZES, "format", "lanes", "operation"],
)
def test_an_end_of_other_sizes_gets_nothing_but_handshakes(change: dict[str, object]) -> None:
    other = LINK.with_changes(**change)
    link = Link(end(1), end(2, other))
    link.ends[0].send(0, 0, [(1, 2)])
    link.step(6 * TIMEOUT)
    assert not any(one.up for one in link.ends)
    assert link.gone == [6, 6]
    assert [one.handshakes_refused for one in link.ends] == [6, 6]
    assert link.ends[1].received == {}


def test_ends_of_other_sizes_that_no_link_depends_on_fit() -> None:
    protocol = LINK.protocol.model_dump() | {"phases": 9, "timeout_cycles": 50}
    link = Link(end(1), end(1, LINK.with_changes(ports=7, protocol=protocol)))
    link.step(4 * LENGTH)
    assert all(one.up for one in link.ends)
