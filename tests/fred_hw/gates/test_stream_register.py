"""Contract of fred_hw.gates.stream_register, cycle by cycle."""

import random
from typing import Any

import pytest

from fred_hw.gates.stream_register import StreamRegister
from tests.fred_hw.simulation import trace


@pytest.mark.parametrize(
    ("shape", "kind", "text"),
    [
        (0, ValueError, "StreamRegister width must be 1 or more, not 0"),
        ("word", TypeError, r"StreamRegister shape must be a shape of Amaranth, not 'word'"),
    ],
)
def test_a_bad_shape_is_refused(shape: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^{text}"):
        StreamRegister(shape=shape)


def test_latency_is_one_cycle_and_a_word_stays_until_it_is_taken() -> None:
    cycles = [{"i.valid": 1, "i.payload": 9}, {"i.valid": 1, "i.payload": 5}, {}, {"o.ready": 1}]
    seen = trace(StreamRegister(shape=4), [*cycles, {}], ["i.ready", "o.valid", "o.payload"])
    assert [row[:2] for row in seen] == [(1, 0), (0, 1), (0, 1), (1, 1), (1, 0)]
    assert [row[2] for row in seen[1:4]] == [9] * 3


def test_throughput_is_a_word_per_cycle() -> None:
    cycles = [{"i.valid": 1, "i.payload": n, "o.ready": 1} for n in range(20)]
    seen = trace(StreamRegister(shape=8), cycles, ["i.ready", "o.valid", "o.payload"])
    assert seen[1:] == [(1, 1, n) for n in range(19)]


def test_words_come_out_in_order_once_each() -> None:
    rng, cycles, number = random.Random(1), list[dict[str, int]](), 0
    # What is offered stays until it is taken; whether it is, the register before it says.
    full = False
    valid = ready = 0
    for _ in range(300):
        valid, ready = valid or rng.randrange(2), rng.randrange(2)
        cycles.append({"i.valid": valid, "i.payload": number % 256, "o.ready": ready})
        if not full or ready:
            full = bool(valid)
            number += valid
            valid = 0
    seen = trace(StreamRegister(shape=8), cycles, ["i.ready", "o.valid", "o.payload"])
    taken = [
        word
        for given, (_, there, word) in zip(cycles, seen, strict=True)
        if there & given["o.ready"]
    ]
    assert taken == [n % 256 for n in range(len(taken))] and len(taken) > 90


def test_a_word_that_is_not_valid_does_not_toggle_the_register() -> None:
    cycles = [{"i.valid": 1, "i.payload": 9, "o.ready": 1}, {"i.payload": 5, "o.ready": 1}, {}]
    assert trace(StreamRegister(shape=4), cycles, ["o.payload"])[1:] == [9, 9]


def test_reset_forgets_the_word() -> None:
    cycles = [{"i.valid": 1, "i.payload": 9}, {"rst": 1}, {}]
    seen = trace(StreamRegister(shape=4), cycles, ["i.ready", "o.valid"])
    assert seen[1:] == [(0, 1), (1, 0)]
