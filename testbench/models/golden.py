"""Golden model of the interconnect, written from the specification.

It knows the recursion of FRED_m(P) (FRED, arXiv 2406.19580) and what each micro-switch setting
means, not how the hardware does it: no cycles, no wires. The order of reductions is that of the
routed tree, so floating-point results compare bit by bit.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fred_hw.compiler.configuration import Configuration
from fred_hw.formats.number_format import NumberFormat
from fred_hw.formats.values import storage
from fred_hw.spec import SwitchSpec

from .arithmetic import combine

__all__ = ["deliver", "lanes_of", "reduction_of", "walk", "word_of", "words_of"]

T = TypeVar("T")
Words = NDArray[np.unsignedinteger]


def walk(
    configuration: Configuration, inputs: Sequence[T | None], reduce: Callable[[T, T], T]
) -> list[T | None]:
    """Return the inputs that each output port receives; None where nothing arrives.

    Parameters
    ----------
    configuration : Configuration
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

    if configuration.crossing is not None:
        first, second = inputs
        if 3 in configuration.crossing:  # a reduction occupies the whole microswitch
            return [both(first, second) if code == 3 else None for code in configuration.crossing]
        choices = (None, first, second)
        return [choices[code] for code in configuration.crossing]
    half = (len(inputs) + 1) // 2
    middle: list[list[T | None]] = [[None] * half for _ in configuration.subswitches]
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
        walk(subswitch, values, reduce)
        for subswitch, values in zip(configuration.subswitches, middle, strict=True)
    ]
    outputs: list[T | None] = []
    for pair, sources in enumerate(configuration.outputs):
        outputs += [results[source - 1][pair] if source else None for source in sources]
    if configuration.mux is not None:
        outputs.append(results[configuration.mux - 1][half - 1] if configuration.mux else None)
    return outputs


def reduction_of(spec: SwitchSpec) -> Callable[[Words, Words], Words]:
    """Return the reduction of two arrays of raw numbers of equal shape."""
    form: NumberFormat = spec.number_format

    def reduce(a: Words, b: Words) -> Words:
        return combine(a, b, form, spec.operation, spec.overflow)

    return reduce


def deliver(
    spec: SwitchSpec, configuration: Configuration, inputs: Sequence[Words | None]
) -> list[Words | None]:
    """Return the raw numbers that each output port receives; see :func:`walk`."""
    return walk(configuration, inputs, reduction_of(spec))


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
