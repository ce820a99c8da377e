"""Tests of fred_cli.cosimulation."""

from pathlib import Path
from typing import Any

import pytest

from fred_cli.cosimulation import REGRESSIONS, load_testbench, simulating
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from gen.level import LEVELS
from testbench.cosimulation.benches import BASELINES
from testbench.sim.tools import SimulatorError


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ((), "--sim: not installed"),
        (("--results",), "--results: not installed"),
        (("simulator", "icarus"), "simulator: icarus: not installed"),
    ],
)
def test_failures_of_simulators_name_the_source(given: tuple[str, ...], line: str) -> None:
    with pytest.raises(InputError) as caught, simulating(*given):
        raise SimulatorError("not installed")
    assert str(caught.value) == line


def test_both_simulators_are_free() -> None:
    assert load_testbench("both") == ("verilator", "icarus")
    assert load_testbench("icarus") == ("icarus",)


@pytest.mark.parametrize(
    ("level", "function"),
    [
        ("interconnect", "cosimulate_interconnect.cosimulate"),
        ("crossbar", "cosimulate_interconnect.cosimulate_crossbar"),
        ("benes", "cosimulate_interconnect.cosimulate_benes"),
        ("switch", "cosimulate_switch.cosimulate_switch"),
        ("endpoint", "cosimulate_pair.cosimulate_endpoint"),
        ("terminator", "cosimulate_pair.cosimulate_terminator"),
        ("router", "cosimulate_mesh.cosimulate_router"),
    ],
)
def test_each_level_has_its_own_regression(
    level: str, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(f"testbench.cosimulation.{function}", lambda *a, **k: asked.append((a, k)))
    spec = load_spec("tiny-2")
    REGRESSIONS[level].run(spec, Path("work"), simulator="icarus", seed=3)
    assert asked == [((spec, Path("work")), {"simulator": "icarus", "seed": 3})]


def test_regressions_are_of_levels_and_of_different_latencies() -> None:
    assert {*REGRESSIONS} <= {*LEVELS}
    own = [one.latency for level, one in REGRESSIONS.items() if level not in BASELINES]
    assert len(set(own)) == len(own)
