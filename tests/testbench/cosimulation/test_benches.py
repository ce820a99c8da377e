"""Tests of testbench.cosimulation.benches."""

import re
from pathlib import Path

import pytest

from fred_cli.cosimulation import check_tests
from testbench.cosimulation.benches import benches, figures_of
from testbench.cosimulation.benches import tests_of as known_tests

FOLDER = Path(__file__).parents[3] / "testbench/benches"
TEST = re.compile(r"^@.*\n(?:[@ )].*\n)*async def (\w+)", re.MULTILINE)


def test_benches_of_the_switch_are_not_those_of_another_level() -> None:
    parts = ("", "_link", "_measures", "_registers", "_rewrites")
    assert {f"testbench.benches.tb_switch{part}" for part in parts} <= set(benches("switch"))
    assert benches("interconnect") == ("testbench.benches.tb_interconnect",)
    assert benches("control") == ("testbench.benches.tb_control",)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("tb_*.py")), ids=lambda path: path.stem)
def test_every_test_of_a_bench_can_be_asked_for(path: Path) -> None:
    level = path.stem.split("_")[1]
    assert f"testbench.benches.{path.stem}" in benches(level)
    tests = TEST.findall(path.read_text(encoding="utf-8"))
    assert tests
    check_tests(tuple(tests), level)


@pytest.mark.parametrize("level", ["interconnect", "switch", "terminator", "mesh", "shown"])
def test_figures_are_read_from_the_calls_that_report_them(level: str) -> None:
    found = figures_of(level)
    assert found and len({one.name for one in found}) == len(found)
    assert {one.test for one in found} <= set(known_tests(level))
    paths = [FOLDER / f"{module.rpartition('.')[2]}.py" for module in benches(level)]
    assert len(found) == sum(path.read_text("utf-8").count(" record(") for path in paths)
