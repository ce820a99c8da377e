"""Tests of tracemodel.chakra.loggops."""

from math import floor
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from tests.written import written
from tracemodel.chakra.goal import Goal, Operation, goal_text, read_goal
from tracemodel.chakra.loggops import LogGops, estimate_schedule, simulate
from tracemodel.rank_times import RankTimes


def ring(ranks: int, total_bytes: int) -> Goal:
    """Return a ring all-reduce: in each step a chunk goes to the next rank, which then goes on."""
    chunk, steps = total_bytes // ranks, 2 * (ranks - 1)
    schedule: list[tuple[Operation, ...]] = []
    for rank in range(ranks):
        following, before = (rank + 1) % ranks, (rank - 1) % ranks
        operations: list[Operation] = []
        for step in range(steps):
            waits = (2 * step - 1,) if step else ()
            operations.append(Operation(f"s{step}", "send", chunk, following, step, requires=waits))
            operations.append(Operation(f"r{step}", "recv", chunk, before, step, requires=waits))
        schedule.append(tuple(operations))
    return tuple(schedule)


def test_ring_of_20_ends_when_loggopsim_says(tmp_path: Path) -> None:
    path = written(tmp_path / "ring.goal", goal_text(ring(20, 1 << 30)))
    model = LogGops(20, G_ns_per_byte=0.333)
    ends = simulate(read_goal(path), model)
    assert set(ends) == {679_357_160}
    assert ends[0] == 2 * 19 * (20 + floor(((1 << 30) // 20 - 1) * 0.333))


@pytest.mark.slow
def test_ring_of_256_ends_when_loggopsim_says() -> None:
    ends = simulate(ring(256, 1 << 30), LogGops(20, G_ns_per_byte=0.333))
    assert set(ends) == {712_328_220}


SEND = Operation("s", "send", 11, 1)
RECV = Operation("r", "recv", 11, 0)


def test_message_takes_every_parameter() -> None:
    model = LogGops(1000, o_ns=100, g_ns=50, G_ns_per_byte=2, O_ns_per_byte=3)
    # 100 + 10 x 3 at the sender, 1000, 10 x 2 until the last byte, and again 130.
    assert simulate(((SEND,), (RECV,)), model) == [130, 1280]


def test_interface_is_taken_between_messages() -> None:
    model = LogGops(1000, g_ns=50, G_ns_per_byte=2)
    three = tuple(Operation(f"s{n}", "send", 11, 1, tag=n) for n in range(3))
    receives = tuple(Operation(f"r{n}", "recv", 11, 0, tag=n) for n in range(3))
    # Each holds the interface 50 + 20; the last goes at 140 and is there 1020 later.
    assert simulate((three, receives), model) == [140, 1160]
    other = tuple(Operation(f"s{n}", "send", 11, 1, tag=n, nic=n) for n in range(3))
    assert simulate((other, receives), model) == [0, 1020]


def test_receiver_takes_messages_of_many_senders_in_turn() -> None:
    model = LogGops(1000, g_ns=50, G_ns_per_byte=2)
    goal = (
        (Operation("s", "send", 11, 2),),
        (Operation("s", "send", 11, 2),),
        (Operation("a", "recv", 11, 0), Operation("b", "recv", 11, 1)),
    )
    assert simulate(goal, model) == [0, 0, 1000 + 70 + 20]


def test_processor_does_one_thing_at_a_time() -> None:
    calc = Operation("c", "calc", 5000)
    assert simulate(((SEND,), (RECV, calc)), LogGops(10, o_ns=3)) == [3, 5003]
    assert simulate(
        ((SEND,), (RECV, Operation("c", "calc", 5000, cpu=1))), LogGops(10, o_ns=3)
    ) == [*(3, 5000)]
    assert simulate(((calc, Operation("d", "calc", 7)),), LogGops(0)) == [5007]


def test_requires_waits_for_the_end_and_irequires_for_the_begin() -> None:
    first, second = Operation("a", "calc", 100), Operation("b", "calc", 10, cpu=1)
    for waits, end in (({"requires": (0,)}, 110), ({"irequires": (0,)}, 100), ({}, 100)):
        late = Operation("b", "calc", 10, cpu=1, **waits)  # pyright: ignore[reportArgumentType]
        assert simulate(((first, late),), LogGops(0)) == [end]
    chain = (first, Operation("b", "calc", 10, requires=(0,)), second)
    last = Operation("c", "calc", 1, cpu=2, irequires=(1,))
    assert simulate(((*chain, last),), LogGops(0)) == [110]
    assert simulate(
        ((first, chain[1], Operation("c", "calc", 50, cpu=2, irequires=(1,))),), LogGops(0)
    ) == [150]


def test_messages_of_a_tag_match_in_order_and_others_do_not() -> None:
    sends = (
        Operation("a", "calc", 100, cpu=1),
        Operation("b", "send", 1, 1, tag=5, requires=(0,)),
        Operation("c", "send", 1, 1, tag=6),
    )
    receives = (
        Operation("a", "recv", 1, 0, tag=5),
        Operation("b", "recv", 1, 0, tag=6),
        Operation("c", "calc", 1000, cpu=1, requires=(1,)),
    )
    assert simulate((sends, receives), LogGops(10)) == [100, 1010]


@pytest.mark.parametrize(
    ("goal", "waits"),
    [
        (((), (RECV,)), "r of rank 1 do"),
        (((SEND,), (Operation("r", "recv", 11, 0, tag=1),)), "r of rank 1 do"),
        (((Operation("a", "calc", 1, requires=(0,)),),), "a of rank 0 do"),
        (((RECV,) * 2, (SEND, *[RECV] * 4)), "r of rank 0, r of rank 0, .* and 2 more do"),
    ],
    ids=["nobody sends", "other tag", "itself", "many"],
)
def test_what_never_ends_is_refused(goal: Goal, waits: str) -> None:
    said = r"^x\.goal: operations: must all end, not wait for each other or for a message that "
    with pytest.raises(InputError, match=f"{said}nobody sends: {waits}$"):
        simulate(goal, LogGops(1), "x.goal")


def test_parameters_have_a_range() -> None:
    for name in ("L_ns", "o_ns", "g_ns", "G_ns_per_byte", "O_ns_per_byte"):
        for value in (-1, float("nan"), float("inf")):
            with pytest.raises(ValueError, match=rf"^{name} must be 0 or more and below 1e18, not"):
                LogGops(**{"L_ns": 1, name: value})


def test_ranks_have_times_by_activity_and_figures_of_links_are_absent() -> None:
    """Rank 1 posts its receive at once, computes 5,000 ns meanwhile and receives for 3 ns then."""
    calc = Operation("c", "calc", 5000)
    found = estimate_schedule(((SEND,), (RECV, calc)), LogGops(10, o_ns=3), "s.goal")
    assert found.ranks == (RankTimes(0, 3, 0, 3, 0, 3), RankTimes(1, 5003, 5000, 5003, 5000, 3))
    assert found.times == pytest.approx((5003e-9, 5000e-9, 3e-9, 5003e-9, 5000e-9))
    assert (found.energy, found.link_bytes, found.utilization) == (None, None, None)
    assert {*found.absent} == {"energy", "link_bytes", "utilization"}
