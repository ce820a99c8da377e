"""Tests of fred_hw.ace.fsm."""

from fred_hw.ace.fsm import AceFsm
from fred_hw.ace.work import message_layout
from tests.fred_hw.simulation import trace

from .works import SPEC, packed, ring_work

WORK = ring_work("all_reduce", rank=1, total=8, message=2, members=2)
WATCH = ("send.ready", "receive.ready", "busy")
FIRST = [{"begin": 1, "slot": 1}, *[{}] * 8]
GONE = [{"send_taken": 1}, {"send_done": 1}, *[{}] * 4]
CAME = [{"receive_taken": 1}, {"receive_done": 1}, *[{}] * 6]


def test_latency_of_messages_and_of_the_end() -> None:
    unit = AceFsm(spec=SPEC)
    seen = trace(unit, [*FIRST, *GONE, *CAME, *GONE, *CAME], WATCH, work=WORK)
    sends = [k for k, one in enumerate(seen) if one[0]]
    assert sends[0] == 5
    assert seen[8] == (1, 1, 1)
    last = len(FIRST) + 2 * len(GONE) + len(CAME) + 1
    assert [one[2] for one in seen[last : last + 4]] == [1, 1, 1, 0]


def test_throughput_of_messages_that_wait_for_nothing() -> None:
    """A message goes every 4 cycles if what came before it is there."""
    unit = AceFsm(spec=SPEC)
    seen = trace(unit, [*FIRST, *CAME, {"send_taken": 1}, *[{}] * 6], WATCH, work=WORK)
    taken = len(FIRST) + len(CAME)
    assert [one[0] for one in seen[taken : taken + 5]] == [1, 0, 0, 0, 1]


def test_what_a_message_is() -> None:
    unit = AceFsm(spec=SPEC)
    seen = trace(unit, FIRST, ("send.payload", "receive.payload"), work=WORK)
    message = {"slot": 1, "size": 2, "keep": 1}
    send = packed(message_layout(SPEC), **message, place=0, offset=0)
    receive = packed(message_layout(SPEC), **message, place=2, offset=4, reduce=1, store=1)
    sides = message_layout(SPEC)
    places = [sides[name] for name in ("slot", "place", "offset", "size")]
    mask = sum(((1 << one.width) - 1) << one.offset for one in places)
    assert (seen[-1][0] & mask) == send & mask
    assert seen[-1][1] == receive


def test_reset_gives_up_the_chunk() -> None:
    unit = AceFsm(spec=SPEC)
    seen = trace(unit, [*FIRST, {"rst": 1}, *[{}] * 3], WATCH, work=WORK)
    assert seen[-1] == (0, 0, 0)
