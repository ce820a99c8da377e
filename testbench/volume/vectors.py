"""Volume stimulus of arithmetic units: a Verilated bank with a compiled harness.

Python makes the operands and compares the results with the golden arithmetic; the cycles in between
run at a million a second or so instead of a thousand.
"""

# Amaranth has no type hints.
# pyright: reportAttributeAccessIssue=false, reportReturnType=false, reportArgumentType=false

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from fred_hw.datapath.reducer import Reducer
from fred_hw.formats.number_format import FloatFormat, NumberFormat
from fred_hw.formats.values import stored
from fred_hw.member import member
from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from testbench.sim.harness import build_harness

from .program import harness_sources

__all__ = ["Bank", "build_bank", "float_pairs", "run_bank", "special_values"]

Words = NDArray[np.uint32]


class Bank(Unit):
    """Several arithmetic units in parallel, of which one is selected.

    Parameters
    ----------
    units : Sequence of Reducer
        At most 64, of one lane each; the others get zeros while one is selected.

    Timing
    ------
    Latency : that of the selected unit.
    Throughput : one result per cycle.
    Paths : from all inputs to ``o``.
    Reset : none.
    """

    select = member(In, 8)
    """Which unit gets the operands and gives the result; 64 more and the operands pass it, and the
    result is the first, 128 more and it is the second."""
    i0 = member(In, 32)
    """First operand in the low bits."""
    i1 = member(In, 32)
    """Second operand in the low bits."""
    o = member(Out, 32)
    """Result in the low bits."""

    def __init__(self, units: Sequence[Reducer]) -> None:
        self.units = units
        self.unit_name, self.resettable = "bank", False
        super().__init__()

    def build(self, m: Module) -> None:
        passes = self.select[6:].any()
        with m.Switch(self.select[:6]):
            for index, unit in enumerate(self.units):
                m.submodules[f"unit_{index}"] = unit
                with m.Case(index):
                    m.d.comb += [
                        unit.i0.eq(self.i0),
                        unit.i1.eq(self.i1),
                        unit.apart.eq(passes.replicate(2)),
                        self.o.eq(Mux(self.select[7], unit.second, unit.o)),
                    ]


def build_bank(units: Sequence[Reducer], emitter: VerilogEmitter | None = None) -> Path:
    """Verilate a bank of ``units``; return its program, from the cache if present.

    Parameters
    ----------
    units : Sequence of Reducer
        Units of the bank; they are used up.
    emitter : VerilogEmitter, optional
        One that puts broken units into the design.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    return build_harness(Bank(units), harness_sources("vectors.cpp", "bank"), emitter)


def run_bank(
    program: Path, select: int, latency: int, a: Words, b: Words, plusargs: Sequence[str] = ()
) -> Words:
    """Return the results of unit ``select`` for the pairs, one pair per cycle.

    Parameters
    ----------
    program : Path
        A bank of :func:`build_bank`.
    select, latency : int
        Index of the unit and its latency in cycles.
    a, b : array of uint32
        Operands in the low bits, equal lengths.
    plusargs : sequence of str
        Arguments of the model: the fault that it has.
    """
    with tempfile.TemporaryDirectory() as name:
        pairs = Path(name) / "pairs"
        np.stack([a, b], axis=1).astype("<u4").tofile(pairs)
        options = [f"select={select}", f"latency={latency}", *plusargs]
        said = subprocess.run([str(program), str(pairs), *options], capture_output=True, check=True)
    return np.frombuffer(said.stdout, dtype="<u4")


def special_values(number_format: NumberFormat) -> Words:
    """Return storage words of numbers at the limits of a format, of both signs."""
    width = number_format.bits
    if isinstance(number_format, FloatFormat):
        fraction = number_format.fraction_bits
        bias, top = number_format.bias, number_format.largest + 1
        one = bias << fraction
        # Half a unit in the last place of one; with few exponents, a subnormal number.
        exponent = bias - fraction - 1
        half_ulp = exponent << fraction if exponent > 0 else (1 << fraction) >> (1 - exponent)
        magnitudes = [
            *(0, 1, 2, 3, (1 << fraction) - 1),  # zero and subnormals
            *(1 << fraction, (1 << fraction) + 1, 2 << fraction),  # smallest normal numbers
            *(one - 1, one, one + 1, one + (1 << (fraction - 1)), one + (1 << fraction)),
            *(max(half_ulp - 1, 0), half_ulp, half_ulp + 1, half_ulp + (1 << fraction)),
            *((fraction + bias) << fraction, (fraction + bias + 1) << fraction),
            *(top - (1 << fraction), top - 2, top - 1),  # largest numbers
            *(top, top + 1, top + (1 << (fraction - 1)), top + (1 << fraction) - 1),  # inf, NaNs
        ]
        sign = 1 << (width - 1)
        both = [m | s for m in magnitudes if m < sign for s in (0, sign)]
        return _stored(np.array(both), number_format)
    high = 1 << (width - 1)
    values = [0, 1, 2, high - 2, high - 1, high, high + 1, 2 * high - 2, 2 * high - 1]
    return _stored(np.array(values), number_format)


def _stored(numbers: NDArray[np.integer], number_format: NumberFormat) -> Words:
    return stored(numbers, number_format).astype(np.uint32)


def float_pairs(
    number_format: FloatFormat, count: int, rng: np.random.Generator
) -> tuple[Words, Words]:
    """Return storage words of at least ``count`` pairs that reach every case of an addition.

    A third are random bit patterns, of the padding too. A third are stratified: each difference of
    the exponents, in both directions, gets an equal share, with random signs and fractions. A third
    have close exponents and fractions of long runs of ones or zeros, for cancellation and ties.
    Every pair of special values is added.
    """
    part = -(-count // 3)
    fraction = number_format.fraction_bits
    largest = (1 << number_format.exponent_bits) - 1

    def build(exponent: NDArray[np.int64], bits: NDArray[np.int64]) -> Words:
        signs = rng.integers(0, 2, len(exponent))
        numbers = (signs << (number_format.bits - 1)) | (exponent << fraction) | bits
        return _stored(numbers, number_format)

    def fractions() -> NDArray[np.int64]:
        return rng.integers(0, 1 << fraction, part)

    def runs() -> NDArray[np.int64]:
        ones = (np.int64(1) << rng.integers(0, fraction + 1, part)) - 1
        ones ^= np.int64(1) << rng.integers(0, fraction, part)
        return np.where(rng.integers(0, 2, part) == 1, ~ones, ones) & ((1 << fraction) - 1)

    most = 1 << number_format.storage_bits
    raw_a, raw_b = (rng.integers(0, most, part).astype(np.uint32) for _ in range(2))
    difference = np.arange(part) % (2 * largest + 1) - largest
    low = rng.integers(0, largest + 1 - np.abs(difference))
    far_a = build(low + np.maximum(difference, 0), fractions())
    far_b = build(low + np.maximum(-difference, 0), fractions())
    near = rng.integers(0, largest + 1, part)
    near_b = np.clip(near + rng.integers(-2, 3, part), 0, largest)
    close_a, close_b = build(near, runs()), build(near_b, runs())
    special = special_values(number_format)
    special_a, special_b = (grid.ravel() for grid in np.meshgrid(special, special))
    return (
        np.concatenate([raw_a, far_a, close_a, special_a]),
        np.concatenate([raw_b, far_b, close_b, special_b]),
    )
