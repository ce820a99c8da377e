"""The committed record of coverage is of the present cover points, and above its floors."""

import json
from pathlib import Path

from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from testbench.coverage.exclusions import EXCLUSIONS
from testbench.coverage.measure import load_points
from testbench.coverage.point import points_of
from testbench.coverage.regression import RUNS

RECORD = Path(__file__).parents[3] / "testbench/evidence/records/coverage.json"


class _Names(VerilogEmitter):
    """Elaborates without writing Verilog."""

    def verilog(self) -> str:
        return ""


def test_record_is_of_the_present_points_and_exclusions() -> None:
    load_points()
    units: dict[str, Unit] = {}

    def see(unit: Unit) -> Unit:
        units[unit.unit_name] = unit
        return unit

    record = json.loads(RECORD.read_text(encoding="utf-8"))
    for one in record["runs"]:
        RUNS[one["name"]].make(_Names(see))
    names: set[str] = set()
    for unit in units.values():
        points = points_of(unit)
        names |= {f"{type(unit).__name__}.{name}" for name in (points.conditions if points else ())}
    assert record["points"].keys() == names
    assert [one["why"] for one in record["exclusions"]] == [one.why for one in EXCLUSIONS]


def test_recorded_coverage_is_above_its_floors() -> None:
    """All points and lines, and 98 % of the branches."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert [name for name, count in record["points"].items() if not count] == []
    for kind, floor in (("line", 1.0), ("branch", 0.98)):
        rows = [row[kind] for row in record["units"].values()]
        reached, places = (sum(row[k] for row in rows) for k in (0, 1))
        assert reached >= floor * places
    assert all(one["places"] for one in record["exclusions"])
