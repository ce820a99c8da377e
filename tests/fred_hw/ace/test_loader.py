"""Tests of fred_hw.ace.loader."""

from fred_hw.ace.loader import AceLoader, request_layout
from tests.fred_hw.simulation import trace

from .works import SPEC, ring_work

WORK = ring_work("all_reduce", rank=0, total=6, message=2, members=2)  # blocks of 3
WATCH = ("o.valid", "o.payload", "active")
FIELDS = ("mark", "address", "slot", "place")


def asked(inputs: list[dict[str, int]], **rest: int) -> list[tuple[int, ...] | None]:
    """Return the reads, cycle by cycle."""
    seen = trace(AceLoader(spec=SPEC), inputs, WATCH, work=WORK, **rest)
    layout = request_layout(SPEC)

    def field(word: int, name: str) -> int:
        one = layout[name]
        return word >> one.offset & ((1 << one.width) - 1)

    return [tuple(field(one[1], name) for name in FIELDS) if one[0] else None for one in seen]


def test_latency_and_throughput_of_two_chunks() -> None:
    """Parts from the first on, the mark behind them, then the next chunk in the next slot."""
    got = asked([{"begin": 1}, *[{}] * 40], room=1, **{"o.ready": 1})
    assert next(k for k, one in enumerate(got) if one) == 6
    assert [(1, one[2]) if one[0] else one for one in got if one] == [
        (0, 3, 0, 2),
        (0, 4, 0, 3),
        (0, 0, 0, 0),
        (0, 1, 0, 1),
        (1, 0),
        (0, 5, 1, 2),
        (0, 2, 1, 0),
        (1, 1),
    ]
    first = [k for k, one in enumerate(got) if one][:3]
    assert first == [6, 7, 9]


def test_chunk_waits_for_a_slot_and_reset_forgets_it() -> None:
    assert not any(asked([{"begin": 1}, *[{}] * 10], **{"o.ready": 1}))
    inputs = [{"begin": 1}, *[{}] * 4, {"rst": 1}, *[{}] * 10]
    assert not any(asked(inputs, room=1, **{"o.ready": 1}))
