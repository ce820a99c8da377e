"""What a configuration delivers, as Amaranth expressions written from the specification.

The recursion is that of ``testbench/models/golden.py``, for all configurations and data at once.
Sums are those of saturating two's complement integers.
"""

from collections.abc import Sequence
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Mux, Value

from fred_hw.compiler.shape import code_width, configuration_width, subswitch_ports

__all__ = ["Word", "configured", "crossed", "distributed", "routed", "selected_by"]


class Word(NamedTuple):
    """A flit as a value: whether it is valid, its data, and the inputs that determine it."""

    valid: Value
    data: Value
    sources: Value


def selected_by(takes: Sequence[Value], words: Sequence[Word]) -> Word:
    """Return the one word that is taken; without one, nothing."""
    found = Word(*(Const(0, len(part)) for part in words[0]))
    for word, take in zip(words, takes, strict=True):
        found = _either(take, word, found)
    return found


def _either(condition: Value, one: Word, other: Word) -> Word:
    return Word(*(Mux(condition, a, b) for a, b in zip(one, other, strict=True)))


def _reduced(first: Word, second: Word) -> Word:
    """Return the saturating sum of two words, which is valid if both are."""
    width = len(first.data)
    total = first.data.as_signed() + second.data.as_signed()
    most, least = (1 << (width - 1)) - 1, -(1 << (width - 1))
    limited = Mux(total > most, most, Mux(total < least, least, total))
    return Word(first.valid & second.valid, limited[:width], first.sources | second.sources)


def routed(configuration: Value, words: Sequence[Word], outputs: int) -> list[Word]:
    """R micro-switch: an input goes to the output of its code; two at one output are reduced.

    With one input it is a demultiplexer.
    """
    width = code_width(outputs)
    codes = [configuration.word_select(index, width) for index in range(len(words))]
    found = []
    for k in range(1, outputs + 1):
        takes = [code == k for code in codes]
        one = selected_by(takes, words)
        both = _reduced(*words) if len(words) == 2 else one
        found.append(_either(Cat(takes).all(), both, one))
    return found


def crossed(configuration: Value, words: Sequence[Word]) -> list[Word]:
    """RD micro-switch: an output takes an input, or both; beside a reduction no input passes."""
    codes = [configuration[:2], configuration[2:4]]
    reduces = (codes[0] == 3) | (codes[1] == 3)
    return [
        _either(
            code == 3,
            _reduced(*words),
            selected_by([(code == k) & ~reduces for k in (1, 2)], words),
        )
        for code in codes
    ]


def distributed(configuration: Value, words: Sequence[Word], outputs: int) -> list[Word]:
    """D micro-switch: an output takes the input of its code; with one output a multiplexer."""
    width = code_width(len(words))
    codes = [configuration.word_select(index, width) for index in range(outputs)]
    return [selected_by([code == k + 1 for k in range(len(words))], words) for code in codes]


def configured(configuration: Value, words: Sequence[Word], count: int) -> list[Word]:
    """Return what a FRED with ``count`` middle subswitches delivers at each output."""
    ports, width = len(words), code_width(count)
    if ports == 2:
        return crossed(configuration, words)
    half = subswitch_ports(ports)
    inner = configuration_width(half, count)
    into = [
        routed(configuration[2 * k * width :], words[2 * k : 2 * k + 2], count) for k in range(half)
    ]
    rest = configuration[ports * width :]
    results = [
        configured(rest.word_select(index, inner), [pair[index] for pair in into], count)
        for index in range(count)
    ]
    rest, found = rest[count * inner :], []
    for k in range(half):
        sources = [result[k] for result in results]
        found += distributed(rest[2 * k * width :], sources, min(2, ports - 2 * k))
    return found
