"""Arithmetic units against the golden arithmetic, millions of pairs through Verilated RTL."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.datapath.reducer import Reducer
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.formats.number_format import FORMATS, OVERFLOWS, FloatFormat, NumberFormat
from fred_hw.formats.values import storage
from fred_hw.operations.operation import OPERATIONS, fitting
from fred_hw.spec import SwitchSpec
from testbench.faults.arith import sticky_dropped
from testbench.faults.fault import Fault, FaultyEmitter, noticed_by
from testbench.models.arithmetic import combine
from testbench.volume.vectors import build_bank, float_pairs, run_bank, special_values

pytestmark = pytest.mark.sim

SEED = 20240619
FLOATS = [form for form in FORMATS.values() if isinstance(form, FloatFormat)]
INTEGERS = [form for form in FORMATS.values() if not isinstance(form, FloatFormat)]
SUM_PAIRS = {"fp16": 2_000_000}


def overflows(form: NumberFormat, name: str) -> bool:
    return form in INTEGERS and OPERATIONS[name].overflows


CASES: list[tuple[NumberFormat, str, str, int]] = [
    (form, name, overflow, registers)
    for form in FORMATS.values()
    for name in fitting(form)
    for overflow in (OVERFLOWS if overflows(form, name) else ("saturate",))
    for registers in ((2,) if form in INTEGERS else (2, 4) if name == "sum" else (1,))
]


FAULTS = noticed_by("vectors")
EMITTER = FaultyEmitter(FAULTS)


@cache
def bank() -> Path:
    return build_bank([as_reducer(*case) for case in CASES], EMITTER)


def as_reducer(form: NumberFormat, operation: str, overflow: str, registers: int) -> Reducer:
    spec = SwitchSpec(
        ports=2,
        lanes=1,
        format=form.name,
        operation=operation,
        overflow=overflow,
        adder_registers=registers,
    )
    return Reducer(spec=spec)


def as_lane(form: NumberFormat, operation: str, overflow: str, registers: int) -> LaneUnit:
    unit = reduction_unit(form, operation, overflow, registers)
    assert isinstance(unit, LaneUnit)
    return unit


def mismatches(
    program: Path,
    select: int,
    case: tuple[NumberFormat, str, str, int],
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    plusargs: Sequence[str] = (),
) -> list[str]:
    form, operation, overflow, registers = case
    got = run_bank(program, select, registers, a, b, plusargs)
    kind = storage(form)
    want = combine(a.astype(kind), b.astype(kind), form, operation, overflow).astype(np.uint32)
    assert len(got) == len(want) == len(a)
    return [
        f"{a[k]:#x} {operation} {b[k]:#x} gave {got[k]:#x}, not {want[k]:#x} (seed {SEED})"
        for k in np.flatnonzero(got != want)[:3]
    ]


def operands(form: NumberFormat, count: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return pairs of a format: special values, and random ones; all that there are of a byte."""
    rng = np.random.default_rng(SEED)
    if form.storage_bits == 8:
        a, b = (grid.ravel().astype(np.uint32) for grid in np.meshgrid(*[np.arange(256)] * 2))
        return a, b
    if isinstance(form, FloatFormat):
        return float_pairs(form, count, rng)
    special = special_values(form)
    grids = np.meshgrid(special, special)
    random = rng.integers(0, 1 << form.storage_bits, (2, count)).astype(np.uint32)
    a, b = (np.concatenate([grids[k].ravel(), random[k]]) for k in range(2))
    return a, b


@pytest.mark.slow
@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_float_sums_are_exact(form: FloatFormat) -> None:
    pairs = SUM_PAIRS.get(form.name, 1_000_000)
    a, b = operands(form, pairs)
    assert len(a) >= min(pairs, 1 << 16)
    case = (form, "sum", "saturate", 2)
    assert mismatches(bank(), CASES.index(case), case, a, b) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case[0] in INTEGERS or case[1:] != ("sum", "saturate", 2)],
    ids=lambda case: f"{case[0].name}-{case[1]}-{case[2]}-a{case[3]}",
)
def test_other_units_are_exact(case: tuple[NumberFormat, str, str, int]) -> None:
    a, b = operands(case[0], 200_000)
    assert mismatches(bank(), CASES.index(case), case, a, b) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].name}-{case[1]}-a{case[3]}")
def test_what_is_not_reduced_passes_bit_by_bit(case: tuple[NumberFormat, str, str, int]) -> None:
    operands_of_case = operands(case[0], 30_000)
    for number, first in enumerate((64, 128)):
        got = run_bank(bank(), CASES.index(case) + first, case[3], *operands_of_case)
        np.testing.assert_array_equal(got, operands_of_case[number])


def has_fault(case: tuple[NumberFormat, str, str, int], fault: Fault) -> bool:
    """Return whether a fault changes results of a unit.

    No sticky bit is ever set if guard and round bit hold whatever alignment shifts out.
    """
    form = case[0]
    aligns = isinstance(form, FloatFormat) and (form.largest >> form.fraction_bits) - 1 > 2
    return isinstance(as_lane(*case), fault.unit) and (aligns or fault is not sticky_dropped)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "case"),
    [(fault, case) for fault in FAULTS for case in CASES if has_fault(case, fault)],
    ids=lambda value: value.__name__ if isinstance(value, Fault) else f"{value[0].name}-{value[3]}",
)
def test_fault_of_a_lane_is_found(fault: Fault, case: tuple[NumberFormat, str, str, int]) -> None:
    a, b = operands(case[0], 30_000)
    assert mismatches(bank(), CASES.index(case), case, a, b, EMITTER.plusargs(fault))
