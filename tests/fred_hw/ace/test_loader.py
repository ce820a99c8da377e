"""Tests of fred_hw.ace.loader."""

from fred_hw.ace.loader import AceLoader, request_layout
from fred_hw.ace.work import work_layout
from tests.fred_hw.simulation import trace

from .works import SPEC, packed, ring_work

WORK = ring_work("all_reduce", rank=0, total=6, message=2, members=2)  # blocks of 3
WATCH = ("o.valid", "o.payload", "active")
FIELDS = ("reads", "mark", "address", "slot", "place")


def asked(inputs: list[dict[str, int]], **rest: int) -> list[tuple[int, ...] | None]:
    """Return the reads, cycle by cycle."""
    seen = trace(AceLoader(spec=SPEC), inputs, WATCH, **{"work": WORK, **rest})
    layout = request_layout(SPEC)

    def field(word: int, name: str) -> int:
        one = layout[name]
        return word >> one.offset & ((1 << one.width) - 1)

    return [tuple(field(one[1], name) for name in FIELDS) if one[0] else None for one in seen]


def test_latency_and_throughput_of_two_chunks() -> None:
    """Parts from the first on, a mark at the last read, then the next chunk in the next slot."""
    got = asked([{"begin": 1}, *[{}] * 40], room=1, **{"o.ready": 1})
    assert [one for one in got if one] == [
        (1, 0, 3, 0, 2),
        (1, 0, 4, 0, 3),
        (1, 0, 0, 0, 0),
        (1, 1, 1, 0, 1),
        (1, 0, 5, 1, 2),
        (1, 1, 2, 1, 0),
    ]
    times = [k for k, one in enumerate(got) if one]
    assert times == [6, 7, 10, 11, 14, 18]


def test_throughput_of_long_parts_is_a_read_per_cycle() -> None:
    """Parts of 5 flits or more, of chunk after chunk, have no cycle between them."""
    work = packed(work_layout(SPEC), total=24, block=24, message=8, parts=1)
    got = asked([{"begin": 1}, *[{}] * 30], work=work, room=1, **{"o.ready": 1})
    times = [k for k, one in enumerate(got) if one]
    assert times == list(range(6, 30))
    assert [got[k][1] for k in times] == [*[0] * 7, 1] * 3  # pyright: ignore[reportOptionalSubscript]


def test_parts_without_flits_are_not_read() -> None:
    """Of 3 flits for 4 members the last one has none; one that ends its chunk leaves a mark."""
    want = {
        0: [(1, 0, 2), (1, 0, 1), (1, 1, 0)],
        1: [(1, 0, 0), (1, 0, 2), (1, 1, 1)],
        3: [(1, 0, 2), (1, 0, 1), (1, 0, 0), (0, 1)],
    }
    for rank, reads in want.items():
        work = ring_work("all_reduce", rank=rank, total=3, message=1)
        got = asked([{"begin": 1}, *[{}] * 40], work=work, room=1, **{"o.ready": 1})
        assert [one[:3] if one[0] else one[:2] for one in got if one] == reads


def test_chunk_waits_for_a_slot_and_reset_forgets_it() -> None:
    assert not any(asked([{"begin": 1}, *[{}] * 10], **{"o.ready": 1}))
    inputs = [{"begin": 1}, *[{}] * 4, {"rst": 1}, *[{}] * 10]
    assert not any(asked(inputs, room=1, **{"o.ready": 1}))
