"""Tests of testbench.cosimulation.benches."""

import re
from pathlib import Path

import pytest

from fred_cli.cosimulation import check_tests
from testbench.cosimulation.benches import benches

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
