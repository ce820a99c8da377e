"""Golden model of the interconnect, written from the specification.

It knows the recursion of FRED_m(P) (FRED, arXiv 2406.19580) and what each micro-switch setting
means, not how the hardware does it: no cycles, no wires. The order of reductions is that of the
routed tree, so floating-point results compare bit by bit. The same holds for the two networks that
FRED is compared with, a crossbar with reduction trees and a Benes network.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fred_hw.compiler.benes import BenesConfiguration
from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.reduction_crossbar import CrossbarConfiguration
from fred_hw.formats.number_format import FloatFormat, NumberFormat
from fred_hw.formats.values import converted, storage
from fred_hw.spec import SwitchSpec

from .arithmetic import combine

__all__ = ["AnyConfiguration", "deliver", "lanes_of", "reduction_of", "walk", "word_of", "words_of"]

T = TypeVar("T")
Words = NDArray[np.unsignedinteger]
AnyConfiguration = Configuration | CrossbarConfiguration | BenesConfiguration
Both = Callable[[Any, Any], Any]
"""Reduction of two, either of which may be missing."""


def walk(
    configuration: AnyConfiguration, inputs: Sequence[T | None], reduce: Callable[[T, T], T]
) -> list[T | None]:
    """Return the inputs that each output port receives; None where nothing arrives.

    Parameters
    ----------
    configuration : Configuration, CrossbarConfiguration or BenesConfiguration
        State of every micro-switch.
    inputs : Sequence
        Data sent by each input port, None for nothing; as many as there are ports.
    reduce : Callable
        Reduction of two, lower port first. It is not called when one of the two is missing: a
        partial reduction is never delivered.

    Raises
    ------
    ValueError
        The number of inputs is not that of the ports.
    """
    if len(inputs) != configuration.ports:
        raise ValueError(f"inputs must be {configuration.ports} in number, not {len(inputs)}")

    def both(a: T | None, b: T | None) -> T | None:
        return None if a is None or b is None else reduce(a, b)

    return _walk(configuration, inputs, both)


@singledispatch
def _walk(configuration: Any, inputs: Sequence[Any], both: Both) -> list[Any]:
    raise TypeError(f"configuration must be one of a network, not {configuration!r}")


@_walk.register
def _(configuration: Configuration, inputs: Sequence[Any], both: Both) -> list[Any]:
    if configuration.crossing is not None:
        return _crossed(configuration.crossing, inputs, both)
    half = (len(inputs) + 1) // 2
    middle: list[list[Any]] = [[None] * half for _ in configuration.subswitches]
    for pair, (to0, to1) in enumerate(configuration.inputs):
        first, second = inputs[2 * pair], inputs[2 * pair + 1]
        if to0 == to1 and to0:
            middle[to0 - 1][pair] = both(first, second)
            continue
        for to, value in ((to0, first), (to1, second)):
            if to:
                middle[to - 1][pair] = value
    if configuration.demux:
        middle[configuration.demux - 1][half - 1] = inputs[-1]
    results = [
        _walk(subswitch, values, both)
        for subswitch, values in zip(configuration.subswitches, middle, strict=True)
    ]
    outputs: list[Any] = []
    for pair, sources in enumerate(configuration.outputs):
        outputs += [results[source - 1][pair] if source else None for source in sources]
    if configuration.mux is not None:
        outputs.append(results[configuration.mux - 1][half - 1] if configuration.mux else None)
    return outputs


def _crossed(codes: tuple[int, int], inputs: Sequence[Any], both: Both) -> list[Any]:
    """Return the outputs of an RD micro-switch."""
    first, second = inputs
    if 3 in codes:  # a reduction occupies the whole microswitch
        return [both(first, second) if code == 3 else None for code in codes]
    choices = (None, first, second)
    return [choices[code] for code in codes]


@_walk.register
def _(configuration: CrossbarConfiguration, inputs: Sequence[Any], both: Both) -> list[Any]:
    return [_tree(mask, inputs, both) for mask in configuration.taken]


def _tree(mask: int, inputs: Sequence[Any], both: Both) -> Any:
    """Return the reduction of the inputs in a mask: neighbours first, then pairs of pairs."""
    if len(inputs) == 1:
        return inputs[0] if mask else None
    size = 1 << (len(inputs) - 1).bit_length() - 1
    masks = mask & ((1 << size) - 1), mask >> size
    found = [
        _tree(one, part, both)
        for one, part in zip(masks, (inputs[:size], inputs[size:]), strict=True)
        if one
    ]
    return both(*found) if len(found) == 2 else next(iter(found), None)


@_walk.register
def _(configuration: BenesConfiguration, inputs: Sequence[Any], both: Both) -> list[Any]:
    return _benes(iter(configuration.selections), inputs, both)


def _benes(codes: Iterator[tuple[int, int]], inputs: Sequence[Any], both: Both) -> list[Any]:
    """Return the outputs of a Benes network, whose micro-switches take the next codes."""
    pairs = [_crossed(next(codes), inputs[k : k + 2], both) for k in range(0, len(inputs), 2)]
    if len(inputs) == 2:
        return pairs[0]
    upper, lower = (_benes(codes, [pair[side] for pair in pairs], both) for side in range(2))
    joined = zip(upper, lower, strict=True)
    return [one for pair in list(joined) for one in _crossed(next(codes), pair, both)]


def reduction_of(spec: SwitchSpec) -> Callable[[Words, Words], Words]:
    """Return the reduction of two arrays of raw numbers of equal shape, in the format of links."""
    form: NumberFormat = spec.number_format

    def reduce(a: Words, b: Words) -> Words:
        return combine(a, b, form, spec.operation, spec.overflow)

    return reduce


def deliver(
    spec: SwitchSpec, configuration: AnyConfiguration, inputs: Sequence[Words | None]
) -> list[Words | None]:
    """Return the raw numbers that each output port receives; see :func:`walk`.

    They are added in the format inside the switch.
    """
    inside = spec.inside
    results = walk(
        configuration, [_converted(one, spec, inside) for one in inputs], reduction_of(inside)
    )
    return [_converted(one, inside, spec) for one in results]


def _converted(words: Words | None, given: SwitchSpec, wanted: SwitchSpec) -> Words | None:
    """Return raw numbers of one specification in the format of another."""
    a, b = given.number_format, wanted.number_format
    if words is None or a == b:
        return words
    assert isinstance(a, FloatFormat)
    assert isinstance(b, FloatFormat)
    return converted(np.asarray(words, storage(a)), a, b)


def lanes_of(word: int, spec: SwitchSpec) -> Words:
    """Return the lanes of a flit as raw numbers, shape (lanes,)."""
    data = word.to_bytes(spec.data_width // 8, "little")
    return words_of(np.frombuffer(data, np.uint8), spec)


def word_of(lanes: Words, spec: SwitchSpec) -> int:
    """Return the flit that contains ``lanes``, lane 0 in the low bits."""
    kind = storage(spec.number_format)
    return int.from_bytes(np.ascontiguousarray(lanes, kind).tobytes(), "little")


def words_of(memory: NDArray[np.uint8], spec: SwitchSpec) -> Words:
    """Return the bytes of flits as raw numbers; shape (..., bytes) becomes (..., lanes)."""
    return np.ascontiguousarray(memory).view(storage(spec.number_format))
