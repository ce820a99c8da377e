"""Tests of fred_cli.report.wafer."""

from fred_cli.columns.parts import PARTS
from fred_cli.report.wafer import SWEPT


def test_sweep_has_samples_beside_the_parts_of_whole_iterations() -> None:
    parts = [f"{part.name} [s]" for part in PARTS]
    assert [column.csv for column in SWEPT.written] == ["strategy", "fabric", "samples", *parts]
