"""Tests of fred_cli.report.wafer."""

from fred_cli.columns.parts import PARTS
from fred_cli.columns.strategies import COLUMNS
from fred_cli.report.wafer import SWEPT


def test_sweep_has_samples_beside_the_parts_of_whole_iterations() -> None:
    found = [column.csv for column in SWEPT.written]
    assert found[:3] == ["strategy", "fabric", "samples"]
    assert {f"{part.name} [s]" for part in PARTS} <= {*found}
    # All others of `fred strategies` are there too, in its order.
    gone = {"per sample [s]", "iteration [s]", "memory"}
    everything = [column.csv for column in COLUMNS.written]
    assert gone < {*everything}
    assert found[3:] == [one for one in everything[2:] if one not in gone]
