"""Tests of fred_cli.explore.reproduce."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from fred_cli.explore.details import detail
from fred_cli.explore.reproduce import reproduction, restored
from fred_cli.explore.table import Source, Table
from fred_hw.errors import InputError
from tests.fred_cli.fred import Fred
from tests.written import written

from .stores import evaluated

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


def test_a_point_without_inputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^ab: topology: must be in the row of the point"):
        restored({"key": "ab", "topology": "mesh:2x2", "strategy": "MP1-DP4-PP1"}, tmp_path)
