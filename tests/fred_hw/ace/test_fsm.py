"""Tests of fred_hw.ace.fsm."""

from fred_hw.ace.fsm import AceFsm
from tests.fred_hw.simulation import trace

from .works import SPEC, ring_work

WORK = ring_work("all_reduce", rank=1, total=8, message=2, members=2)
WATCH = ("send", "receive", "busy", "slot")
FIRST = [{"begins": 1, "i": 1}, *[{}] * 4]
GONE = [{"send_taken": 1}, {"send_done": 1}, *[{}] * 4]
CAME = [{"receive_taken": 1}, {"receive_done": 1}, *[{}] * 6]


def test_latency_of_messages_and_of_the_end() -> None:
    """What is sent next was received before, and nothing comes before that has."""
    seen = trace(AceFsm(spec=SPEC), [*FIRST, *GONE, *CAME, *GONE, *CAME], WATCH, work=WORK)
    sends = [k for k, one in enumerate(seen) if one[0]]
    assert sends[:4] == [2, 3, 4, 5]
    came = len(FIRST) + len(GONE) + 1
    assert sends[4] == came + 2
    assert [k for k, one in enumerate(seen) if one[1]][came - 2 :][:2] == [came + 2, came + 3]
    assert seen[4] == (1, 1, 1, 1)
    last = len(FIRST) + 2 * len(GONE) + len(CAME) + 1
    assert [one[2] for one in seen[last : last + 4]] == [1, 1, 1, 0]


def test_throughput_of_messages_that_wait_for_nothing() -> None:
    """A message goes every 2 cycles if what came before it is there."""
    seen = trace(AceFsm(spec=SPEC), [*FIRST, *CAME, {"send_taken": 1}, *[{}] * 6], WATCH, work=WORK)
    taken = len(FIRST) + len(CAME)
    assert [one[0] for one in seen[taken : taken + 3]] == [1, 0, 1]


def test_nothing_goes_or_comes_behind_the_last_step() -> None:
    seen = trace(
        AceFsm(spec=SPEC), [*FIRST, *CAME, *CAME, *GONE, *GONE, *[{}] * 4], WATCH, work=WORK
    )
    assert [one[:2] for one in seen[-4:]] == [(0, 0)] * 4


def test_reset_gives_up_the_chunk() -> None:
    seen = trace(AceFsm(spec=SPEC), [*FIRST, {"rst": 1}, *[{}] * 3], WATCH, work=WORK)
    assert [one[:3] for one in seen[-2:]] == [(0, 0, 0)] * 2
