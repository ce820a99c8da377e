"""Tests of `fred reproduce`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

ROW = {"id", "what", "published", "model", "ratio", "tolerance", "ok", "how", "source"}


@pytest.mark.usefixtures("half_share")
def test_reproduce_says_how_far_the_protocol_moved_its_rows(fred: Run, place: Path) -> None:
    arguments = ("reproduce", "--section", "bandwidth")
    said = json.loads(fred(*arguments, "--csv", "rows.csv", "--json")[1])
    ideal = json.loads(fred(*arguments, "--protocol", "ideal", "--json")[1])
    assert ideal["within_tolerance"] == ideal["rows_in_all"] > said["within_tolerance"]
    for row, other in zip(said["rows"], ideal["rows"], strict=True):
        assert set(row) == ROW | {"ideal", "moved_percent"} and set(other) == ROW
        assert row["ideal"] == other["model"]
        assert row["moved_percent"] == pytest.approx(100 * (row["model"] / other["model"] - 1))
    with (place / "rows.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [float(row["moved_percent"]) for row in written] == [
        row["moved_percent"] for row in said["rows"]
    ]
    out = fred(*arguments)[1]
    first = said["rows"][0]
    shown = rf"MISS +{first['ideal']:.4g} +{first['moved_percent']:+.2f} "
    assert re.search(shown, out), out


def test_reproduce_prints_and_writes_its_rows(fred: Run, place: Path) -> None:
    arguments = ("reproduce", "--section", "wafer", "--protocol", "ideal")
    said = json.loads(fred(*arguments, "--csv", "rows.csv", "--json")[1])
    assert said["rows_in_all"] == said["within_tolerance"] == len(said["rows"])
    assert set(said["rows"][0]) == ROW
    with (place / "rows.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["id"] for row in table] == [row["id"] for row in said["rows"]]
    assert set(table[0]) == ROW
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert f"{len(said['rows'])} of {len(said['rows'])} within tolerance" in out
    assert "moved" not in out
