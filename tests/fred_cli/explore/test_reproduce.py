"""Tests of fred_cli.explore.reproduce."""

import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_cli.explore.details import detail
from fred_cli.explore.reproduce import reproduction, reproduction_of, restored
from fred_cli.explore.table import Source, Table
from fred_hw.errors import InputError
from tests.fred_cli.fred import Fred
from tests.synth.tiny import tiny_liberty
from tests.tracemodel.astra.engine.nodes import compute
from tests.written import written
from tracemodel.chakra.files import write

from .stores import evaluated, table_of

EXAMPLES = Path(__file__).parents[3] / "examples"


def again(fred: Fred, row: dict[str, Any], folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Run the command line of a point in this folder; return its words and results."""
    made = reproduction(restored(row, folder))
    for name, text in made.files.items():
        Path(name).write_text(text)
    words = shlex.split(made.command)
    assert words[:2] == ["fred", "estimate"]
    return words, fred.json(*words[1:])


@pytest.mark.parametrize("place", range(0, 16, 2))
def test_command_line_gives_the_stored_values(
    fred: Fred, place: int, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = table.row(place)
    assert "error" not in row
    found = again(fred, row, tmp_path)[1]
    for name in ("iteration_time_s", "time_per_sample_s", "compute_s", "minibatch"):
        assert found[name] == row[name]
    assert found["energy"]["total_j"] == row["energy.total_j"]
    assert found["exposed_s"]["dp"] == row["exposed_s.dp"]


def test_what_is_built_in_is_named_and_options_are_given(
    fred: Fred, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = {
        "topology": "fred-d",
        "workload": "transformer-17b",
        "compute": ["calibrated", "first-principles"],
        "placement": "linear",
    }
    row = Source(evaluated(tmp_path / "x", space)).table().row(0)
    words, found = again(fred, row, tmp_path)
    assert words[2:] == [
        *("--topology", "fred-d", "--workload", "transformer-17b", "--strategy", row["strategy"]),
        *("--compute", "calibrated", "--placement", "linear"),
    ]
    assert found["iteration_time_s"] == row["iteration_time_s"]


def test_inputs_are_those_of_the_row(table: Table, tmp_path: Path) -> None:
    row = table.row(0)
    fields = restored(row, tmp_path).fields()
    assert {name: row[name] for name in fields if name in row} == {
        name: value for name, value in fields.items() if value is not None
    }


def test_files_of_options_are_given(
    fred: Fred, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, place = tmp_path / "x", tmp_path / "place"
    space = {
        "topology": "fred-d",
        "workload": "resnet-50",
        "energy": "sub/e.yaml",
        "endpoint": "core-driven:a.yaml",
    }
    (study / "sub").mkdir(parents=True)
    for name, example in (("sub/e.yaml", "energy"), ("a.yaml", "endpoint")):
        written(study / name, (EXAMPLES / f"{example}.yaml").read_text())
    table = Source(evaluated(study, space)).table()
    row = table.row(0)
    place.mkdir()
    monkeypatch.chdir(place)  # where none of the files of the study is
    shown = detail(table, row["key"])
    assert shown.problem == ""
    assert shown.reproduction
    assert {*shown.reproduction.files} == {"energy.yaml", "endpoint.yaml"}
    words, found = again(fred, row, study)
    assert words[-4:] == [
        *("--energy", "energy.yaml"),
        *("--endpoint", "core-driven:endpoint.yaml"),
    ]
    assert found["energy"]["total_j"] == row["energy.total_j"]
    assert found["iteration_time_s"] == row["iteration_time_s"]
    assert row["endpoint.file.settings.2.overlap"] is False


def test_a_file_of_an_option_whose_contents_are_not_stored_is_refused(
    table: Table, tmp_path: Path
) -> None:
    row = {**table.row(0), "energy": "e.yaml"}
    with pytest.raises(InputError, match=r"energy: must be in the row .* contents of e\.yaml"):
        restored(row, tmp_path)


def test_a_failed_point_has_the_command_that_fails(
    fred: Fred, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {**table.row(0), "key": "1" * 32, "error": "the worker process ended"}
    shown = detail(table_of(tmp_path / "s", [row]), row["key"])
    expected = detail(table, table.row(0)["key"]).reproduction
    assert shown.problem == "the worker process ended"
    assert expected and shown.reproduction == expected
    monkeypatch.chdir(tmp_path)
    failed = next(one for one in map(table.row, range(16)) if "error" in one)
    made = reproduction_of(failed, tmp_path)
    for name, text in made.files.items():
        Path(name).write_text(text)
    status, _, err = fred(*shlex.split(made.command)[1:])
    assert status == 2 and failed["error"] in err


@pytest.mark.parametrize(
    "row",
    [
        {"topology": "mesh:2x2", "workload": "resnet-50", "strategy": "MP1-DP4-PP3"},
        {"specification": "tiny-2", "level": "switch", "liberty": "a.lib", "effort": "area"},
    ],
    ids=["training", "switch"],
)
def test_values_that_do_not_go_together_have_no_command(
    row: dict[str, Any], tmp_path: Path
) -> None:
    shown = detail(table_of(tmp_path / "s", [{**row, "error": "must fit"}]), "0" * 32)
    assert (shown.problem, shown.reproduction) == ("must fit", None)


def test_traces_have_a_command_for_the_folder_of_the_study(
    fred: Fred, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in range(2):
        write(tmp_path / f"one.{rank}.et", [compute(1, 3)])
    system = {"all-reduce-implementation": ["ring"], "endpoint-delay": 0}
    written(tmp_path / "sys.json", system)
    space = {"traces": "one", "network": "mesh:2x1", "system": "sys.json"}
    store = evaluated(tmp_path, space, objectives=["total_ns"])
    [key] = Source(store).table().keys
    shown = detail(Source(store).table(), key)
    assert shown.problem == "" and shown.reproduction and shown.reproduction.in_study_folder
    monkeypatch.chdir(tmp_path)
    words = shlex.split(shown.reproduction.command)
    assert words[:4] == ["fred", "estimate", "--workload", "one"]
    assert fred.json(*words[1:])["total_ns"] == 3_000


SWITCH = {
    "specification": "tiny-2",
    "specification.ports": 2,
    "specification.protocol.phases": 4,
    "verilog_sha256": "0",
    "level": "switch",
    "effort": "area",
    "seed": 3,
    "regression": False,
}


@pytest.mark.parametrize(
    ("columns", "command"),
    [
        (
            {"liberty": "/cells.lib"},
            "fred synth specification.yaml --level switch --liberty /cells.lib --effort area",
        ),
        ({"simulator": "icarus"}, "fred characterize specification.yaml --sim icarus --seed 3"),
        (
            {"simulator": "icarus", "regression": True},
            "fred sim specification.yaml --level switch --sim icarus --seed 3",
        ),
    ],
    ids=["area", "cycles", "tests"],
)
def test_switches_have_a_command(tmp_path: Path, columns: dict[str, Any], command: str) -> None:
    table = table_of(tmp_path / "s", [{**SWITCH, **columns, "error": "tests failed"}])
    shown = detail(table, "0" * 32)
    assert shown.problem == "tests failed" and shown.reproduction
    assert shown.reproduction.command == command
    [text] = shown.reproduction.files.values()
    assert yaml.safe_load(text) == {"ports": 2, "protocol": {"phases": 4}}


@pytest.mark.slow
def test_the_command_of_a_switch_gives_its_area(
    fred: Fred, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    import_module("fred_cli.switch_study")  # registers its kind of study
    written(tmp_path / "tiny.lib", tiny_liberty())
    space = {"specification": "tiny-2", "specification.lanes": 2, "liberty": "tiny.lib"}
    row = Source(evaluated(tmp_path, space, objectives=["area_um2"])).table().row(0)
    made = reproduction_of(row, tmp_path)
    for name, text in made.files.items():
        Path(name).write_text(text)
    found = fred.json(*shlex.split(made.command)[1:])
    assert (found["area_um2"], found["clock_ns"]) == (row["area_um2"], row["clock_ns"])


def test_a_point_without_inputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^ab: topology: must be in the row of the point"):
        restored({"key": "ab", "topology": "mesh:2x2", "strategy": "MP1-DP4-PP1"}, tmp_path)
