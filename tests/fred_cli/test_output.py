"""Tests of fred_cli.output."""

import csv
import io

import pytest

from fred_cli.output import as_csv


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", "\t=1", "\n=1"])
def test_no_cell_begins_a_formula(cell: str) -> None:
    rows = list(csv.reader(io.StringIO(as_csv([cell], [[cell, 1]]), newline="")))
    assert rows == [[f"'{cell}"], [f"'{cell}", "1"]]


def test_no_cell_ends_a_line() -> None:
    assert as_csv(["\r=1"], []) == "\\r=1\n"


@pytest.mark.parametrize("cell", ["-1.5", "+3", "-1,234.5", "-2e-3", "-3.1%", "MP2-DP5", "a=1", ""])
def test_numbers_and_words_stay_as_they_are(cell: str) -> None:
    assert list(csv.reader(io.StringIO(as_csv(["a"], [[cell, -2.5]])))) == [["a"], [cell, "-2.5"]]
