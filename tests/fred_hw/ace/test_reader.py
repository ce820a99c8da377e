"""Tests of fred_hw.ace.reader."""

from fred_hw.ace.loader import request_layout
from fred_hw.ace.reader import AceReader, load_layout
from tests.fred_hw.simulation import trace

from .works import SPEC, packed

REQUEST = request_layout(SPEC)
MARK, FIRST = packed(REQUEST, mark=1), packed(REQUEST, mark=1, first=1)
READY = {"read.ready": 1, "ready": 1}


def read(address: int, slot: int = 0, place: int = 0) -> int:
    return packed(REQUEST, reads=1, address=address, slot=slot, place=place)


def test_latency_of_a_read_and_of_its_word() -> None:
    inputs = [
        {"i[1].valid": 1, "i[1].payload": read(5, 1, 3)},
        {"i[1].valid": 1, "i[1].payload": MARK},
        {},
        {"data.valid": 1, "data.payload": 77},
        {},
        {},
        {},
    ]
    watch = ("read.valid", "read.payload", "valid", "o", "loaded", "begun")
    seen = trace(AceReader(spec=SPEC), inputs, watch, **READY)
    assert seen[1][:2] == (1, 5)
    word = packed(load_layout(SPEC), circuit=2, slot=1, place=3, data=77)
    assert [k for k, one in enumerate(seen) if one[2]] == [4]
    assert seen[4][3] == word
    assert [(k, *one[4:]) for k, one in enumerate(seen) if any(one[4:])] == [(5, 2, 0)]


def test_word_waits_until_it_is_taken_and_so_does_its_mark() -> None:
    """Memory keeps the next word, and the part has come when its last word is taken."""
    last = packed(REQUEST, reads=1, mark=1, first=1, address=6)
    inputs = [
        {"i[1].valid": 1, "i[1].payload": read(5)},
        {"i[1].valid": 1, "i[1].payload": last},
        *[{"data.valid": 1}] * 6,
    ]
    for k in (0, 1, 2, 3, 5):
        inputs[k] = {**inputs[k], "ready": 0}
    watch = ("valid", "data.ready", "begun", "loaded")
    seen = trace(AceReader(spec=SPEC), inputs, watch, **READY)
    assert [one[0] for one in seen] == [0, 0, 0, 1, 1, 1, 1, 0]
    assert [one[1] for one in seen] == [0, 1, 1, 0, 1, 0, 0, 0]
    assert [one[2:] for one in seen] == [(0, 0)] * 6 + [(2, 0), (0, 0)]


def test_a_first_part_without_flits_is_told_too() -> None:
    inputs = [{"i[0].valid": 1, "i[0].payload": FIRST}, *[{}] * 4]
    seen = trace(AceReader(spec=SPEC), inputs, ("begun", "loaded", "valid"), **READY)
    assert sum(one[0] for one in seen) == 1
    assert not any(one[1] or one[2] for one in seen)


def test_throughput_of_two_circuits_by_turns() -> None:
    both = {"i[0].valid": 1, "i[2].valid": 1, "i[0].payload": read(1), "i[2].payload": read(2)}
    busy = {**READY, "data.valid": 1}
    seen = trace(AceReader(spec=SPEC), [both] * 21, ("read.valid", "read.payload"), **busy)
    assert [address for valid, address in seen[3:] if valid] == [1, 2] * 9
    assert all(valid for valid, _ in seen[1:])


def test_reset_forgets_reads() -> None:
    inputs = [
        {"i[0].valid": 1, "i[0].payload": read(1)},
        {"rst": 1},
        {"data.valid": 1},
        {},
        {},
    ]
    seen = trace(AceReader(spec=SPEC), inputs, ("valid", "data.ready"), **READY)
    assert seen[2:] == [(0, 0)] * 3
