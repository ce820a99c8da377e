"""The attack finds broken hardware, and reduces what it finds to a few operations."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fred_hw.spec import SwitchSpec
from testbench.campaigns import attack as module
from testbench.campaigns import fabrics, run
from testbench.campaigns.attack import attack, check_case, main
from testbench.campaigns.case import Case, Outcome, shrunk
from testbench.campaigns.designs import (
    RANDOM_MESHES,
    RANDOM_SWITCHES,
    RANDOM_WAFERS,
    Choices,
    Designs,
    simpler_choices,
)
from testbench.campaigns.kinds import KINDS, PlanKind, SwitchKind
from testbench.models.golden import walk
from testbench.models.golden_plane import walk_phase
from testbench.sim.tools import SimulatorError
from tests.testbench.volume.pair import PAIR, faulty_pair

WRONG_SUM = 232
"""Seed of a plan of the wafer with few operations, among them a reduction."""


def test_shrinking_keeps_what_fails_and_nothing_else() -> None:
    def simpler(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        for one in values["left"]:
            yield {"left": [other for other in values["left"] if other != one]}

    found = shrunk({"left": [*range(9)]}, simpler, lambda v: {3, 7} <= {*v["left"]}, tries=100)
    assert found == {"left": [3, 7]}


def test_shrinking_ends_after_the_given_number_of_runs() -> None:
    ran: list[int] = []

    def fails(values: Mapping[str, Any]) -> bool:
        ran.append(values["left"])
        return True

    found = shrunk({"left": 9}, lambda v: iter([{"left": v["left"] - 1}]), fails, tries=4)
    assert (found, ran) == ({"left": 5}, [8, 7, 6, 5])


@pytest.mark.parametrize("name", KINDS)
def test_a_case_is_a_function_of_its_seed_and_of_its_file(name: str) -> None:
    kind = KINDS[name]
    case = Case(name, kind.draw(3))
    again = Case.parse(case.json())
    assert again.values == kind.draw(3) == case.values
    assert again.values != kind.draw(4)
    assert kind.text(again.values) == kind.text(case.values)
    assert kind.design(case.values)


@pytest.mark.parametrize("name", KINDS)
def test_simpler_cases_differ_and_can_be_drawn(name: str) -> None:
    kind = KINDS[name]
    values = kind.draw(5)
    found = list(kind.simpler(values))
    assert found
    assert values not in found
    assert kind.text(found[0]) != kind.text(values)


@pytest.mark.parametrize("designs", [RANDOM_WAFERS, RANDOM_MESHES, RANDOM_SWITCHES])
def test_simpler_designs_are_legal_and_end_with_the_simplest(designs: Designs) -> None:
    choices = {name: values[-1] for name, values in designs.choices.items()}
    if designs is RANDOM_MESHES:
        choices |= {"width": 5, "height": 1}
    while simpler := list(simpler_choices(designs, choices)):
        choices = simpler[-1]
        assert designs.spec(choices)
    assert choices == {name: values[0] for name, values in designs.choices.items()}


def test_random_designs_cover_wafers_meshes_and_tori() -> None:
    drawn = [
        KINDS[name].draw(seed)["design"]
        for name in ("random wafer", "random mesh")
        for seed in range(0, 240, 6)
    ]
    for name in ("switches", "routing", "read_ports", "format", "middle_switches"):
        values = {one[name] for one in drawn if name in one}
        every = {*RANDOM_WAFERS.choices.get(name, ()), *RANDOM_MESHES.choices.get(name, ())}
        assert values == every


def test_results_are_appended_to_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlanKind, "run", lambda self, values: Outcome("", 5, 2, 1))
    record = tmp_path / "record.json"
    arguments = ["attack", "--kinds", "row", "--minutes", "0.01", "--record", str(record)]
    for seed in ("1", "2"):
        monkeypatch.setattr("sys.argv", [*arguments, "--seed", seed])
        assert main() == 0
    first, second = json.loads(record.read_text())
    assert (first["seed"], second["seed"]) == (1, 2)
    assert first["flits"] == 5 * first["kinds"]["row"] > 0
    assert first["failures"] == []


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["any_number"])
def test_a_broken_switch_is_found_and_reduced(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, emitter = faulty_pair()
    broken = next(one for one in emitter.faults if one.__name__ == fault)

    class Broken(SwitchKind):
        def built(self, design: Choices) -> tuple[Path, SwitchSpec, Sequence[str]]:
            return program, PAIR, emitter.plusargs(broken)

    drawn = {**KINDS["changing"].draw(1), "faults": 10_000, "stalls": 20, "flits": 10_000}
    simplest = {name: values[0] for name, values in RANDOM_SWITCHES.choices.items()}
    monkeypatch.setitem(KINDS, "changing", Broken("changing"))  # type: ignore[misc]
    small, what = check_case(Case("changing", {**drawn, "design": simplest}), tries=12)
    assert what
    assert small.values["flits"] <= 2500
    assert KINDS["changing"].run(Case.parse(small.json()).values).what == what


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
def test_a_wrong_sum_is_found_and_reduced_to_one_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = partial(walk_phase, cross=lambda _, way, sent: walk(way, sent, lambda a, b: a))
    monkeypatch.setattr(run, "walk_phase", wrong)
    monkeypatch.setattr(module, "_FAILURES", tmp_path)
    said: list[str] = []
    monkeypatch.setattr(time, "monotonic", iter([0.0, 0.0, 0.0, 1.0, 1.0]).__next__)
    tally = attack(WRONG_SUM, 0.01, ["wafer"], 20, said.append)
    assert tally.failures
    (file,) = tmp_path.glob("*.json")
    case = Case.parse(file.read_text())
    kind = KINDS["wafer"]
    assert isinstance(kind, PlanKind)
    (operation,) = kind.campaign(case.values).plan.used()
    assert kind.campaign(case.values).plan.operations[operation].kind == "reduce"
    assert f"repeat: make attack CASE={file}" in said[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "must be an existing file, not a missing one"),
        ("", "must be a case that make attack wrote, not another text"),
        ("[1]", "must be a case that make attack wrote, not another text"),
        ('{"kind": "wafers"}', "must be a case that make attack wrote, not another text"),
        ('{"kind": "wafer"}', "must be a case that make attack wrote, not another text"),
    ],
)
def test_a_file_that_is_no_case_is_refused_in_one_line(
    text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit) as ended:
        module.main(["--case", str(path)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {path}: {message}\n"


@pytest.mark.parametrize("text", ["", '{"a": 1}', "[1]", '[{"flits": 1}]', "[[]]", "null"])
def test_a_file_that_is_no_record_is_refused_before_the_attack(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "attack", lambda *_: pytest.fail("it began"))
    path = tmp_path / "attacks.json"
    path.write_text(text)
    with pytest.raises(SystemExit) as ended:
        module.main(["--record", str(path)])
    assert ended.value.code == 2
    message = "must be a record that make attack wrote, not another text"
    assert capsys.readouterr().err == f"error: {path}: {message}\n"
    assert path.read_text() == text


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "x"])
def test_minutes_are_above_0(minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        module.main(["--minutes", minutes])
    assert ended.value.code == 2
    assert f"above 0, at most 1440, not '{minutes}'" in capsys.readouterr().err


def test_a_compiler_that_is_missing_is_no_failure_of_the_hardware(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_model(self: object) -> None:
        raise SimulatorError("verilator is not installed")

    monkeypatch.setattr(fabrics.WaferFabric, "model", property(no_model))
    with pytest.raises(SimulatorError, match=r"^verilator is not installed$"):
        KINDS["wafer"].run(KINDS["wafer"].draw(1))


def test_a_failure_that_does_not_repeat_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = iter([Outcome("wrong sum"), *[Outcome("")] * 100])
    monkeypatch.setattr(type(KINDS["wafer"]), "run", lambda *_: next(outcomes))
    monkeypatch.setattr(module, "_FAILURES", tmp_path)
    monkeypatch.setattr(time, "monotonic", iter([0.0, 0.0, 0.0, 1.0, 1.0]).__next__)
    tally = attack(1, 0.01, ["wafer"], 3, lambda _: None)
    assert tally.failures == ["wafer, seed 1: wrong sum"]
