"""Tests of fred_cli.switch_study."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_cli import switch_study
from fred_cli.switch_study import SWITCHES
from fred_hw.errors import InputError
from studies.study.plan import Plan, load_study
from studies.study.point import evaluate
from studies.study.version import version_of
from testbench.characterize import SwitchMeasurement
from testbench.cosimulation import cosimulate_interconnect
from testbench.sim.runner import SimulationResult, TestOutcome
from testbench.sim.tools import SimulatorError
from tests.fred_cli.fred import Fred
from tests.synth.tiny import tiny_liberty

SPACE = {
    "specification": "tiny-2",
    "specification.middle_switches": [2, 3],
    "specification.lanes": [1, 2],
    "specification.format": ["int8", "int16"],
    "liberty": "tiny.lib",
}


@pytest.fixture(autouse=True)
def _place(tmp_path: Path) -> None:
    (tmp_path / "tiny.lib").write_text(tiny_liberty())


def plan_of(folder: Path, space: dict[str, Any] = SPACE, **keys: Any) -> Plan:
    path = folder / "study.yaml"
    study = {"space": space, "objectives": ["area_um2"], **keys}
    path.write_text(yaml.safe_dump(study))
    return load_study(path)


@pytest.mark.slow
def test_switches_with_the_same_verilog_are_one_point(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    work = plan.work()
    # The middle stage of two ports is the same whatever the number of middle switches.
    assert len(plan.space) == 8
    assert len(work.numbers) == 4
    found = [plan.point(number).derived for number in work.numbers.values()]
    assert {(one["specification.lanes"], one["specification.format"]) for one in found} == {
        (lanes, form) for lanes in (1, 2) for form in ("int8", "int16")
    }
    assert len({one["verilog_sha256"] for one in found}) == 4


@pytest.mark.slow
def test_a_constraint_after_one_that_leaves_no_switch_is_not_evaluated(tmp_path: Path) -> None:
    constraints = ["specification.lanes > 2", "specification.middle_switches == 2"]
    line = r"constraints\.0: must leave a point, not remove the last 8 of 8"
    with pytest.raises(InputError, match=line):
        plan_of(tmp_path, constraints=constraints).work()


@pytest.mark.slow
def test_the_key_depends_on_cells_clock_and_level(tmp_path: Path) -> None:
    base = {
        **SPACE,
        "specification.middle_switches": 3,
        "specification.lanes": 1,
        "specification.format": "int8",
    }
    keys: set[str] = set()
    for change in ({}, {"specification.clock_ns": 2.0}, {"level": "switch"}, {"effort": "area"}):
        keys |= {*plan_of(tmp_path, {**base, **change}).work().numbers}
    assert len(keys) == 4
    (tmp_path / "tiny.lib").write_text(tiny_liberty() + "\n")
    assert not keys & {*plan_of(tmp_path, base).work().numbers}


@pytest.mark.slow
def test_area_and_clock_are_those_of_synth(fred: Fred, place: Path, tmp_path: Path) -> None:
    (place / "tiny.lib").write_text(tiny_liberty())
    report = fred.json("synth", "tiny-2", "--liberty", "tiny.lib", "--set", "lanes=2")
    space = {"specification": "tiny-2", "specification.lanes": 2, "liberty": "tiny.lib"}
    plan = plan_of(tmp_path, space)
    row = evaluate(plan.point(0))
    assert row["error"] is None
    for name in ("area_um2", "clock_ns", "cells", "flip_flops"):
        assert row[name] == report[name]
    assert row["records"].startswith("synthesized: fred_m3_p2_int8x2_a1, effort speed")
    assert row["version"] == SWITCHES.version()


def test_cycles_are_those_of_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {
        "latency_cycles": 5,
        "throughput_flits_per_cycle": 1.0,
        "reconfiguration_cycles": 0,
        "switch": {"latency_cycles": 17},
    }
    asked: list[SwitchMeasurement] = []

    def measured(self: SwitchMeasurement, _work: Path) -> dict[str, Any]:
        asked.append(self)
        return record

    monkeypatch.setattr(SwitchMeasurement, "record", measured)
    space = {"specification": "tiny-2", "simulator": "icarus", "seed": 3}
    row = evaluate(plan_of(tmp_path, space, objectives=["latency_cycles"], seed=5).point(0))
    assert (row["error"], row["latency_cycles"], row["switch.latency_cycles"]) == (None, 5, 17)
    assert "area_um2" not in row
    assert (asked[0].spec.ports, asked[0].simulators, asked[0].seed) == (2, ("icarus",), 3)
    assert row["seed"] == 3


@pytest.mark.parametrize(
    ("objective", "space", "points"),
    [
        ("area_um2", {"liberty": "tiny.lib"}, 1),
        ("latency_cycles", {"simulator": "icarus"}, 2),
        ("tests_failed", {"simulator": "icarus", "regression": True}, 2),
    ],
)
def test_simulations_depend_on_all_of_a_specification(
    tmp_path: Path, objective: str, space: dict[str, Any], points: int
) -> None:
    """Benches take stimulus, timeouts and levels from values that the Verilog does not have."""
    given = {"specification": "tiny-2", "specification.protocol.phases": [4, 8], **space}
    assert len(plan_of(tmp_path, given, objectives=[objective]).work().numbers) == points


def test_the_key_depends_on_no_file_that_is_named_as_a_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = {"specification": "tiny-2", "liberty": "tiny.lib"}
    before = plan_of(tmp_path, space).point(0).key
    for name in ("interconnect", "speed"):
        (tmp_path / name).write_text("of another program")
    assert plan_of(tmp_path, space).point(0).key == before


def test_the_cell_library_is_read_once(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, {"specification": "tiny-2", "liberty": "tiny.lib"})
    before = plan.point(0).key
    (tmp_path / "tiny.lib").unlink()
    assert plan.point(0).key == before


@pytest.mark.parametrize(
    ("objective", "space", "same"),
    [
        ("area_um2", {"liberty": "tiny.lib"}, True),
        ("latency_cycles", {"simulator": "icarus"}, False),
        ("tests_failed", {"simulator": "icarus", "regression": True}, False),
    ],
)
@pytest.mark.parametrize("package", ["gen", "fred_hw", "fred_cli"])
def test_keys_of_simulated_switches_depend_on_the_code_that_generates_and_runs_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    objective: str,
    space: dict[str, Any],
    same: bool,
    package: str,
) -> None:
    def key() -> str:
        given = {"specification": "tiny-2", **space}
        return plan_of(tmp_path, given, objectives=[objective]).point(0).key

    def changed(*packages: str) -> str:
        return f"{version_of(*packages)}{' changed' * (package in packages)}"

    before = key()
    monkeypatch.setattr(switch_study, "version_of", changed)
    assert (key() == before) is same


REGRESSION = {
    "specification": "tiny-2",
    "specification.lanes": 1,
    "specification.format": "int8",
    "simulator": "icarus",
    "regression": True,
}


def regressions(folder: Path, **space: Any) -> Plan:
    return plan_of(folder, {**REGRESSION, **space}, objectives=["tests_failed"])


def test_each_seed_of_a_simulation_is_a_point(tmp_path: Path) -> None:
    plan = regressions(tmp_path, seed={"range": [1, 3], "step": 1})
    work = plan.work()
    assert [plan.point(number).derived["seed"] for number in work.numbers.values()] == [1, 2, 3]
    cells = {"specification": "tiny-2", "liberty": "tiny.lib", "seed": [1, 2, 3]}
    assert len(plan_of(tmp_path, cells).work().numbers) == 1  # synthesis has no stimulus


def test_a_failed_test_of_a_regression_is_the_error_of_its_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    def cosimulate(_spec: Any, _work: Path, *, simulator: str, seed: int) -> SimulationResult:
        seeds.append(seed)
        outcomes = (TestOutcome("sums", True, "", 1.0), TestOutcome("resets", False, "1 != 2", 1.0))
        return SimulationResult(simulator, "12", seed, outcomes[: 2 - seed % 2])

    monkeypatch.setattr(cosimulate_interconnect, "cosimulate", cosimulate)
    plan = regressions(tmp_path, seed=[7, 8])
    passed, failed = (evaluate(plan.point(number)) for number in (0, 1))
    assert seeds == [7, 8]
    assert (passed["tests_passed"], passed["tests_failed"], passed["error"]) == (1, 0, None)
    assert (failed["tests_passed"], failed["tests_failed"]) == (1, 1)
    assert failed["error"] == "icarus: tests failed: resets: 1 != 2"


def test_a_simulator_that_fails_is_the_error_of_its_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cosimulate(*_given: Any, **_options: Any) -> SimulationResult:
        raise SimulatorError("not installed")

    monkeypatch.setattr(cosimulate_interconnect, "cosimulate", cosimulate)
    row = evaluate(regressions(tmp_path).point(0))
    assert row["error"] == "simulator: icarus: not installed"
    assert "tests_passed" not in row


@pytest.mark.slow
@pytest.mark.sim
def test_regressions_with_several_seeds_are_a_study_of_the_command(fred: Fred, place: Path) -> None:
    study = {"space": {**REGRESSION, "seed": [1, 2]}, "objectives": ["tests_failed"]}
    (place / "study.yaml").write_text(json.dumps(study))
    found = fred.json("study", "run", "study.yaml", "-o", "store", "--workers", "1")
    assert (found["points"], found["computed"], found["failed"]) == (2, 2, 0)
    query = "select seed, tests_passed, tests_failed from points order by seed"
    rows = fred.json("study", "query", "store", query)["rows"]
    one = fred.json("sim", "tiny-2", "--set", "lanes=1", "--set", "format=int8", "--sim", "icarus")
    assert [row["seed"] for row in rows] == [1, 2]
    assert {(row["tests_passed"], row["tests_failed"]) for row in rows} == {(one["tests"], 0)}


@pytest.mark.slow
def test_switches_are_a_study_of_the_command(fred: Fred, place: Path) -> None:
    (place / "tiny.lib").write_text(tiny_liberty())
    space = {**SPACE, "specification.lanes": 1}
    objectives = ["area_um2", "clock_ns"]
    (place / "study.yaml").write_text(json.dumps({"space": space, "objectives": objectives}))
    run = ("study", "run", "study.yaml", "-o", "store", "--workers", "1")
    found = fred.json(*run)
    assert (found["points"], found["computed"], found["failed"]) == (2, 2, 0)
    best = found["best"]["area_um2"]
    assert (best["specification.format"], best["specification"]) == ("int8", "tiny-2")
    assert fred.json(*run)["computed"] == 0


@pytest.mark.parametrize(
    ("space", "line"),
    [
        ({"specification.ports": [2, 1]}, "space.specification.ports: must be an integer from 2"),
        ({"specification.port": 2}, "space.specification.port: unknown key; .*'ports'"),
        ({"specification": "tiny"}, "space.specification: must be an existing file or a preset"),
        ({"effort": "most"}, "space.effort: must be one of"),
        ({"level": "plane"}, "space.level: must be"),
        ({"simulator": "spice"}, "space.simulator: must be"),
        ({"liberty": None}, "space.liberty: must be given for area and clock, or simulator"),
        ({"liberty": "nolib"}, "space.liberty: nolib: must be an existing file, not a missing one"),
        ({"liberty": "study.yaml"}, "space.liberty: study.yaml: library: must be a Liberty file"),
        ({"regression": True}, "space.simulator: must be given with regression"),
        ({"regression": "yes"}, "space.regression: must be true or false, not 'yes'"),
        ({"seed": 0}, "space.seed: must be an integer from 1 to 4294967295, not 0"),
        ({"seed": True}, "space.seed: must be an integer from 1 to 4294967295, not True"),
        ({"npu.peak_flops": 1e15}, "space.npu.peak_flops: must begin with one of specification"),
    ],
)
def test_bad_studies_of_switches_are_refused(
    tmp_path: Path, space: dict[str, Any], line: str
) -> None:
    with pytest.raises(InputError, match=line):
        plan_of(tmp_path, {**SPACE, **space})


def test_objectives_of_training_are_refused(tmp_path: Path) -> None:
    line = r"objectives\.0: must be one of area_um2, .*tests_failed, not 'busy_s'"
    with pytest.raises(InputError, match=line):
        plan_of(tmp_path, objectives=["busy_s"])


@pytest.mark.parametrize(
    ("objective", "field"),
    [("area_um2", "liberty"), ("latency_cycles", "simulator"), ("tests_failed", "regression")],
)
def test_an_objective_needs_what_measures_it(tmp_path: Path, objective: str, field: str) -> None:
    with pytest.raises(InputError, match=f"space.{field}: must be given with the objective"):
        plan_of(tmp_path, {"specification": "tiny-2"}, objectives=[objective])


def test_bad_studies_are_refused_in_one_line(refused: Callable[..., str], place: Path) -> None:
    study = {"space": {**SPACE, "specification.ports": 1}, "objectives": ["area_um2"]}
    (place / "study.yaml").write_text(yaml.safe_dump(study))
    line = "error: study.yaml: space.specification.ports: must be an integer from 2 to 64, not 1"
    assert refused("study", "run", "study.yaml", "-o", "store") == line
