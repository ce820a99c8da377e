"""The tables of docs/explanation/fidelity-compute.md agree with what the experiments print."""

import json
import re
from itertools import product

import pytest

from docs.experiments.readings import READINGS, SWEPT, shown
from perfmodel.published import SWEEPS
from perfmodel.workloads.workload import PUBLISHED
from studies.reproduce import reproduce
from studies.section import Setting

from .pages import ROOT

PAGE = (ROOT / "docs/explanation/fidelity-compute.md").read_text("utf-8")
IDEAL = json.loads((ROOT / "tests/studies/ideal_figures.json").read_text("utf-8"))


def rows(name: str) -> list[list[str]]:
    """Return the cells behind a name of each row that begins with it."""
    found = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", PAGE, re.M)
    return [row.split(" | ") for row in found]


@pytest.mark.slow
@pytest.mark.parametrize("name", READINGS)
def test_speed_ups_of_a_reading(name: str) -> None:
    found = {row.id: row for row in reproduce(["speedups"], Setting("ideal", name))}
    pairs = [[found[f"speedup/{one}/fred-{fabric}"] for fabric in "cd"] for one in PUBLISHED]
    good = sum(row.ok for both in pairs for row in both)
    cells = [f"{READINGS[name]}", *(shown(*both) for both in pairs), f"{good} of 8"]
    assert cells in rows(f"`{name}`")


def test_sweeps_of_calibrated_compute() -> None:
    cells = rows("`calibrated`")[1]
    assert [cell.partition(" ")[0] for cell in cells[: len(SWEPT)]] == [
        f"{IDEAL[f'sweep/{one}']:.2f}" for one in SWEPT
    ]


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_as_fred_reproduce_has_them(name: str) -> None:
    table = PAGE.partition(f"\n{name.title()}:\n")[2]
    line = next(line for line in table.splitlines() if line.startswith("| as `fred reproduce` |"))
    exposed, _, speedup, best = line.strip("| ").split(" | ")[1:]
    assert exposed == f"{IDEAL[f'sweep/{name}/exposed']:.2f}"
    assert speedup == f"{IDEAL[f'sweep/{name}/speedup']:.3f}"
    assert best == IDEAL[f"sweep/{name}/best/fred-d"]


@pytest.mark.slow
def test_averages_have_all_readings() -> None:
    names = {"exposed": "exposed", "speedup": "speed-up"}
    found = {row.id: row for row in reproduce(["sweeps"], Setting("ideal"))}
    for name, (key, words) in product(SWEEPS, names.items()):
        row = found[f"sweep/{name}/{key}"]
        assert row.published is not None and row.band is not None
        assert isinstance(row.model, float)
        places = 2 if key == "exposed" else 3
        low, high = row.band
        within, readings = row.within
        assert rows(f"{words}, {name.title()}") == [
            [
                f"{row.published:.2f}",
                f"{row.model:.{places}f}",
                f"{low:.2f} to {high:.2f}",
                f"{within} of {readings}",
            ]
        ]
