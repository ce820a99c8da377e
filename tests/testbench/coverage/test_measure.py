"""Coverage of runs is summed up, and depends on their stimulus."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from gen.design import generate
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.cosimulation.launch import Options
from testbench.coverage.counts import Place
from testbench.coverage.exclusions import Exclusion
from testbench.coverage.measure import Measured, Subject, load_points, main, measure, summary
from testbench.coverage.regression import Run, bench_run
from testbench.sim.runner import SimulationResult
from testbench.sim.tools import SimulatorError

SPEC = SwitchSpec(ports=2, lanes=1, format="int8")


def measured(**counts: int) -> Measured:
    lines = ("module fifo_w8(i, o);", "assign o = full ? held : i;", "endmodule")
    places = {
        "then": Place("branch", "fifo_w8", 2, "14 cond_then"),
        "other": Place("branch", "fifo_w8", 2, "14 cond_else"),
        "rises": Place("toggle", "fifo_w8", 1, "o:0->1"),
        "point": Place("user", "fifo_w8_points", 0, "is_full"),
    }
    found = Counter({places[name]: count for name, count in counts.items()})
    return Measured("run", "fifo_w8", 1, 0.0, {"fifo_w8": Subject("Fifo", lines)}, found)


def test_place_is_reached_if_one_run_reaches_it() -> None:
    runs = [measured(then=0, other=3, rises=0, point=0), measured(then=2, other=0, point=4)]
    found = summary(runs, ())
    assert found["units"]["Fifo"] == {"line": [0, 0, 0], "branch": [2, 2, 0], "toggle": [0, 1, 0]}
    assert (found["points"], found["holes"]) == ({"Fifo.is_full": 4}, [])


def test_hole_is_listed_unless_it_is_excluded() -> None:
    run = measured(then=0, other=3, point=0)
    found = summary([run], ())
    assert found["units"]["Fifo"]["branch"] == [1, 2, 0]
    assert found["holes"] == ["Fifo: assign o = full ? held : i; -> cond_then"]
    excluded = Exclusion("Fifo", ("branch",), "full .* -> cond_then", "it is never full")
    found = summary([run], [excluded])
    assert found["units"]["Fifo"]["branch"] == [1, 1, 1]
    assert found["holes"] == []
    assert [one["places"] for one in found["exclusions"]] == [1]


def test_exclusion_of_another_unit_or_kind_does_not_count() -> None:
    run = measured(then=0, other=3)
    others = [Exclusion("Queue", ("branch",), "", "no"), Exclusion("Fifo", ("toggle",), "", "no")]
    assert summary([run], others)["units"]["Fifo"]["branch"] == [1, 2, 0]


def test_design_that_fails_is_left_out_and_others_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure_one(name: str, *_: object) -> Measured:
        if name == "mesh":
            raise SimulatorError("a test fails")
        return replace(measured(then=1), name=name)

    monkeypatch.setattr("testbench.coverage.measure.measure", measure_one)
    monkeypatch.setattr("testbench.coverage.measure.generator_digest", lambda: "ab12")
    record = tmp_path / "coverage.json"
    assert main(["--runs", "mesh", "switch", "--record", str(record)]) == 1
    assert capsys.readouterr().err == "error: mesh: a test fails\n"
    found = json.loads(record.read_text())
    assert [one["name"] for one in found["runs"]] == ["switch"]
    assert "mesh" in found["left_out"]
    assert main(["--runs", "mesh", "--record", str(tmp_path / "none.json")]) == 1
    assert not (tmp_path / "none.json").exists()


def reached(test: str, folder: Path) -> set[str]:
    """Return the points of a single micro-switch that a test reaches."""

    def bench(work: Path, options: Options) -> SimulationResult:
        return cosimulate(SPEC, work, **{**options, "tests": [test]})

    run = Run(partial(generate, SPEC), bench_run(bench))
    points = summary([measure(test, run, 1, folder / test)], ())["points"]
    assert len(points) == 12
    return {name.partition(".")[2] for name, count in points.items() if count}


@pytest.mark.sim
@pytest.mark.slow
def test_points_of_a_switch_are_reached_only_by_their_stimulus(tmp_path: Path) -> None:
    load_points()
    assert len(reached("every_setting_does_what_it_says", tmp_path)) == 12
    assert reached("every_path_has_the_same_latency", tmp_path) == {
        *("first_and_nothing", "second_and_nothing", "nothing_and_first", "nothing_and_second"),
        "sum_and_sum",
    }
