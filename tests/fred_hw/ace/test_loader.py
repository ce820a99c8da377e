"""Tests of fred_hw.ace.loader."""

import pytest

from fred_hw.ace.loader import AceLoader, request_layout
from fred_hw.ace.work import work_layout
from fred_hw.spec import SwitchSpec
from tests.fred_hw.simulation import trace

from .works import SPEC, packed, ring_work

WORK = ring_work("all_reduce", rank=0, total=6, message=2, members=2)  # blocks of 3
WATCH = ("o.valid", "o.payload", "active")
READY = {"o.ready": 1}
FIELDS = ("reads", "mark", "first", "address", "slot", "place")


def asked(
    inputs: list[dict[str, int]], spec: SwitchSpec = SPEC, parts: str = "all", **rest: int
) -> list[tuple[int, ...] | None]:
    """Return the reads, cycle by cycle."""
    seen = trace(AceLoader(spec=spec, parts=parts), inputs, WATCH, **{"work": WORK, **rest})
    layout = request_layout(spec)

    def field(word: int, name: str) -> int:
        one = layout[name]
        return word >> one.offset & ((1 << one.width) - 1)

    return [tuple(field(one[1], name) for name in FIELDS) if one[0] else None for one in seen]


def test_latency_and_throughput_of_two_chunks() -> None:
    """The first part of both, a mark at its last read, then the second of both, in their slots."""
    got = asked([{"begins": 1}, *[{}] * 40], space=1, **{"o.ready": 1})
    assert [one for one in got if one] == [
        (1, 0, 1, 3, 0, 2),
        (1, 1, 1, 4, 0, 3),
        (1, 1, 1, 5, 1, 2),
        (1, 0, 0, 0, 0, 0),
        (1, 1, 0, 1, 0, 1),
        (1, 1, 0, 2, 1, 0),
    ]
    times = [k for k, one in enumerate(got) if one]
    assert times == [6, 7, 10, 14, 15, 18]


@pytest.mark.parametrize("flits", [4, 8])
def test_throughput_of_long_parts_is_a_read_per_cycle(flits: int) -> None:
    """Parts of 4 flits or more, of chunk after chunk, have no cycle between them."""
    work = packed(work_layout(SPEC), total=24, block=24, message=flits, parts=1, last_fsm=2)
    got = asked([{"begins": 1}, *[{}] * 30], work=work, space=1, **{"o.ready": 1})
    times = [k for k, one in enumerate(got) if one]
    assert times == list(range(6, 30))
    assert [got[k][1] for k in times] == [*[0] * (flits - 1), 1] * (24 // flits)  # pyright: ignore[reportOptionalSubscript]


def test_parts_without_flits_are_not_read() -> None:
    """Of 3 flits for 4 members the last one has none; it leaves a mark in its place."""
    want = {
        0: [(0, 1, 1), (1, 1, 0, 2), (1, 1, 0, 1), (1, 1, 0, 0)],
        1: [(1, 1, 1, 0), (0, 1, 0), (1, 1, 0, 2), (1, 1, 0, 1)],
        3: [(1, 1, 1, 2), (1, 1, 0, 1), (1, 1, 0, 0), (0, 1, 0)],
    }
    for rank, reads in want.items():
        work = ring_work("all_reduce", rank=rank, total=3, message=1)
        got = asked([{"begins": 1}, *[{}] * 40], work=work, space=1, **{"o.ready": 1})
        assert [one[:4] if one[0] else one[:3] for one in got if one] == reads


def test_chunks_that_go_together_have_slots_of_their_own_and_slots_take_turns() -> None:
    """Five chunks by two state machines in three slots, each of two parts of a flit."""
    spec = SPEC.with_changes(endpoint=SPEC.endpoint.model_copy(update={"slots": 3}))
    work = ring_work("all_reduce", rank=0, total=10, message=1, members=2)
    got = asked([{"begins": 1}, *[{}] * 80], spec, work=work, space=1, **{"o.ready": 1})
    assert [one[4] for one in got if one] == [0, 1, 0, 1, 2, 0, 2, 0, 1, 1]
    assert [one[3] for one in got if one] == [5, 6, 0, 1, 7, 8, 2, 3, 9, 4]


def test_chunk_waits_for_a_slot_and_reset_forgets_it() -> None:
    assert not any(asked([{"begins": 1}, *[{}] * 10], **{"o.ready": 1}))
    inputs = [{"begins": 1}, *[{}] * 4, {"rst": 1}, *[{}] * 10]
    assert not any(asked(inputs, space=1, **{"o.ready": 1}))


@pytest.mark.parametrize("rank", range(4))
@pytest.mark.parametrize(("total", "message"), [(3, 1), (40, 2), (37, 2)])
def test_two_loaders_ask_for_what_one_does_each_in_its_order(
    rank: int, total: int, message: int
) -> None:
    """In the same slots and places; the first part of each chunk, and all that is added."""
    work = ring_work("all_reduce", rank=rank, total=total, message=message)
    reads = {
        parts: [
            one
            for one in asked([{"begins": 1}, *[{}] * 260], parts=parts, work=work, space=1, **READY)
            if one
        ]
        for parts in ("all", "first", "rest")
    }
    first = FIELDS.index("first")
    assert reads["first"] == [one for one in reads["all"] if one[first]]
    assert reads["rest"] == [one for one in reads["all"] if not one[first]]
    assert sum(one[0] for one in reads["all"]) == total


def test_latency_and_throughput_of_two_loaders() -> None:
    """A read per cycle of each; 4 flits of a second part, the first of each two chunks, take 5."""
    work = ring_work("all_reduce", rank=0, total=32, message=4, members=2)
    times = {"first": [*range(6, 22)], "rest": [*range(7, 15), *range(16, 24)]}
    for parts, want in times.items():
        got = asked([{"begins": 1}, *[{}] * 40], parts=parts, work=work, space=1, **READY)
        assert [k for k, one in enumerate(got) if one] == want


@pytest.mark.parametrize("parts", ["first", "rest"])
def test_two_loaders_begin_with_slot_0_each_time(parts: str) -> None:
    """One of them may have nothing to do in a descriptor, and then knows of no slots."""
    spec = SPEC.with_changes(endpoint=SPEC.endpoint.model_copy(update={"slots": 3}))
    work = ring_work("all_reduce", rank=0, total=8, message=1, members=2)
    inputs = [{"begins": 1}, *[{}] * 40] * 2
    got = asked(inputs, spec, parts, work=work, space=1, **READY)
    assert [one[4] for one in got if one] == [0, 1, 2, 0] * 2


@pytest.mark.parametrize("parts", ["first", "rest"])
def test_one_of_two_loaders_takes_a_chunk_when_there_is_space_and_once(parts: str) -> None:
    """The second one too says that it takes a chunk with the first part that it asks for."""
    work = ring_work("all_reduce", rank=0, total=6, message=1, members=3)
    steps = 1 if parts == "first" else 2
    unit, inputs = AceLoader(spec=SPEC, parts=parts), [{"begins": 1}, *[{}] * 9]
    inputs += [{"space": 1}, *[{}] * 9, *[{"space": 1}] * 50]
    seen = trace(unit, inputs, ("taken", "o.valid"), work=work, **READY)
    assert sum(one[0] for one in seen[:10]) == 0 and seen[10][0]
    assert sum(one[0] for one in seen) == 2
    assert sum(one[1] for one in seen) == 2 * steps
