"""Tests of fred_hw.ace.lockstep."""

from fred_hw.ace.lockstep import AceLockstep
from tests.fred_hw.simulation import trace


def steps(inputs: list[dict[str, int]], cycles: int, issued: int = 1) -> list[int]:
    return trace(AceLockstep(), inputs, ["step"], cycles=cycles, issued=issued)


def test_latency_of_a_step_is_its_estimated_time() -> None:
    assert steps([{"begins": 1}, *[{}] * 10], cycles=3) == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3]


def test_throughput_is_a_step_a_cycle_without_an_estimate() -> None:
    for cycles in (0, 1):
        assert steps([{"begins": 1}, *[{}] * 4], cycles=cycles) == [0, 0, 1, 2, 3]


def test_step_waits_for_its_entries_and_the_next_one_takes_its_full_time() -> None:
    """An endpoint that was late does not catch up, as its neighbours expect steps apart."""
    late = [{"begins": 1, "issued": 0}, *[{"issued": 0}] * 5, *[{}] * 6]
    assert steps(late, cycles=3) == [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2]


def test_schedule_that_begins_again_and_reset_return_to_step_0() -> None:
    for again in ("begins", "rst"):
        seen = steps([{"begins": 1}, *[{}] * 4, {again: 1}, {}, {}], cycles=2)
        assert seen[:7] == [0, 0, 0, 1, 1, 2, 0]
