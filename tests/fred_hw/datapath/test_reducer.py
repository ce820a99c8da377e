"""Contract of fred_hw.datapath.reducer, cycle by cycle."""

import random

import numpy as np
import pytest

from fred_hw.datapath.reducer import Reducer
from fred_hw.formats.number_format import FORMATS
from fred_hw.operations.operation import fitting
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from testbench.models.golden import lanes_of, reduction_of, word_of
from tests.fred_hw.simulation import trace

CYCLES = 60
OPERATION_OF_FORMAT = [
    (form, operation) for form in FORMATS for operation in fitting(FORMATS[form])
]


def both_ways(spec: SwitchSpec, seed: int, unit: Unit | None = None) -> None:
    """Reduce some pairs and let others pass, at random, and compare with the golden model."""
    rng = random.Random(seed)
    depth, unit = spec.adder_registers, unit or Reducer(spec=spec)
    pairs = [tuple(rng.getrandbits(spec.data_width) for _ in range(2)) for _ in range(CYCLES)]
    reduces = [rng.getrandbits(1) for _ in range(CYCLES)]
    inputs = [
        {
            "i0": pairs[cycle][0],
            "i1": pairs[cycle][1],
            "apart": 0 if reduces[cycle] else rng.randrange(1, 4),
        }
        for cycle in range(CYCLES)
    ]
    seen = trace(unit, inputs, ["o", "second"])[depth:]
    reduced = reduction_of(spec)
    for (first, second), reduce, (o, passed) in zip(pairs, reduces, seen, strict=False):
        if reduce:
            wanted = reduced(lanes_of(first, spec), lanes_of(second, spec))
            assert o == word_of(np.asarray(wanted), spec), f"{first:#x} {second:#x}"
        else:
            assert [o, passed] == [first, second]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("registers", range(9))
@pytest.mark.parametrize(("form", "operation"), [("fp16", "sum"), ("int8", "sum"), ("fp16", "max")])
def test_latency_and_throughput_of_both_ways(form: str, operation: str, registers: int) -> None:
    spec = SwitchSpec(ports=2, lanes=2, format=form, operation=operation, adder_registers=registers)
    both_ways(spec, registers)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("form", "operation"), OPERATION_OF_FORMAT)
@pytest.mark.parametrize("registers", [1, 2, 4])
def test_every_format_and_operation_both_ways(form: str, operation: str, registers: int) -> None:
    spec = SwitchSpec(ports=2, lanes=1, format=form, operation=operation, adder_registers=registers)
    both_ways(spec, 7)


def test_reset_clears_nothing() -> None:
    unit = Reducer(spec=SwitchSpec(ports=2, format="int8", lanes=1, adder_registers=2))
    assert not unit.resettable
    assert trace(unit, [{"i0": 4, "i1": 5}, {"rst": 1}, {}], ["o"])[2] == 9
