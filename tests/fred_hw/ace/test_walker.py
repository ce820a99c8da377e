"""Tests of fred_hw.ace.walker."""

from fred_hw.ace.walker import AceWalker
from tests.fred_hw.simulation import trace

from .works import SPEC, ring_work

WATCH = ("ready", "place", "offset", "size")
WORK = ring_work("all_reduce", rank=2, total=11, message=2)  # blocks of 3, 3, 3 and 2


def parts(base: int) -> list[tuple[int, int, int]]:
    """Return the places, offsets and sizes of four parts, each after its latency."""
    unit = AceWalker(spec=SPEC)
    inputs = [{"begin": 1, "base": base}, *[{}] * 3, *[{"step": 1}, {}, {}] * 4]
    seen = trace(unit, inputs, WATCH, work=WORK)
    assert [k for k, one in enumerate(seen) if one[0]] == [4, 7, 10, 13]
    return [one[1:] for one in seen if one[0]]


def test_latency_and_throughput_of_parts_downwards_and_around() -> None:
    assert parts(0) == [(2, 3, 2), (0, 0, 2), (6, 9, 2), (4, 6, 2)]


def test_last_chunk_is_cut_to_its_blocks_and_the_buffer() -> None:
    assert parts(2) == [(2, 5, 1), (0, 2, 1), (6, 11, 0), (4, 8, 1)]


def test_reset_leaves_nothing_ready() -> None:
    unit = AceWalker(spec=SPEC)
    inputs = [{"begin": 1}, {}, {"rst": 1}, *[{}] * 6]
    seen = trace(unit, inputs, ["ready"], work=WORK)
    assert not any(seen)
