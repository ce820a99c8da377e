"""Tests of fred_hw.control.counter, in Amaranth's simulator."""

import random
from typing import Any

import pytest

from fred_hw.control.counter import SaturatingCounter
from tests.fred_hw.simulation import trace


@pytest.mark.parametrize(
    ("parameters", "kind", "text"),
    [
        ({"sources": 0, "width": 4}, ValueError, "sources must be 1 or more, not 0"),
        ({"sources": True, "width": 4}, TypeError, "sources must be an integer, not True"),
        ({"sources": 1, "width": 0}, ValueError, "width must be 1 or more, not 0"),
        ({"sources": 5, "width": 2}, ValueError, "width must be 3 or more, not 2"),
        ({"sources": 5, "width": None}, TypeError, "width must be an integer, not None"),
    ],
)
def test_bad_parameters_are_refused(
    parameters: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=f"^SaturatingCounter {text}$"):
        SaturatingCounter(**parameters)


def test_latency_is_two_cycles_from_an_event_and_one_from_clear() -> None:
    cycles = [{"events": 0b101}, {}, {}, {"clear": 1}, {}]
    assert trace(SaturatingCounter(sources=3, width=4), cycles, ["count"]) == [0, 0, 2, 2, 0]


@pytest.mark.parametrize(("sources", "width"), [(1, 1), (1, 4), (5, 4), (12, 9)])
def test_counts_every_source_up_to_the_largest_value(sources: int, width: int) -> None:
    rng, most, clear = random.Random(1), (1 << width) - 1, 0.5**width / sources
    cycles = [
        {"events": rng.getrandbits(sources), "clear": int(rng.random() < clear)}
        for _ in range(2000)
    ]
    wanted, before = [0], 0
    for cycle in cycles:
        wanted.append(0 if cycle["clear"] else min(wanted[-1] + before, most))
        before = cycle["events"].bit_count()
    dut = SaturatingCounter(sources=sources, width=width)
    assert trace(dut, [*cycles, {}], ["count"]) == wanted
    assert wanted.count(most) > 100


def test_throughput_is_an_event_of_each_source_per_cycle_and_reset_clears_the_count() -> None:
    cycles = [*[{"events": 0b111}] * 3, {"rst": 1}, {}, {}]
    seen = trace(SaturatingCounter(sources=3, width=6), cycles, ["count"])
    assert seen == [0, 0, 3, 6, 0, 0]


@pytest.mark.parametrize(("sources", "width"), [(1, 1), (3, 4), (5, 32)])
def test_ports_are_as_wide_as_the_parameters_say(sources: int, width: int) -> None:
    unit = SaturatingCounter(sources=sources, width=width)
    assert [len(port) for port in (unit.events, unit.clear, unit.count)] == [sources, 1, width]
