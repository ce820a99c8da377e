"""Whole switches of many port counts, and baselines, as two versions of Verilator read them."""

from pathlib import Path

import pytest

from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.write import write_files
from testbench.sim.kept import kept
from tests.gen.tools import check_lint, debian_verilator, lint

SIZES = ProtocolSpec(phases=1)

# All values of the bits of a port number stand for one with 3, 7, 15, ... ports: nothing is beyond.
MARKS = {ports: [pytest.mark.slow] for ports in (3, 12)}
"""Of those that `make test` lints; the others are long, and 2, 4 and 5 are in test_switch.py."""


def lint_files(ports: int, folder: Path) -> tuple[str, str, str]:
    """Write a switch; return the names of its top module and of the files to read."""
    spec = SwitchSpec(ports=ports, lanes=1, format="int8", middle_switches=2, protocol=SIZES)
    design = kept(generate, spec, level="switch")
    write_files(design.files(), folder)
    return design.name, f"{design.name}.vlt", f"{design.name}.v"


@pytest.mark.sim
@pytest.mark.parametrize(
    "ports", [pytest.param(n, marks=MARKS.get(n, pytest.mark.long)) for n in (3, *range(6, 14))]
)
def test_verilator_finds_nothing_with_any_number_of_ports(ports: int, tmp_path: Path) -> None:
    assert lint(tmp_path, *lint_files(ports, tmp_path)) == (0, "")


@pytest.mark.sim
@pytest.mark.parametrize("ports", [pytest.param(n, marks=MARKS[n]) for n in (3, 12)])
def test_verilator_of_debian_finds_nothing_either(ports: int, tmp_path: Path) -> None:
    program = debian_verilator()
    if program is None:
        pytest.skip("no Verilator 5.006; scripts/debian-verilator.sh unpacks it")
    assert lint(tmp_path, *lint_files(ports, tmp_path), program=program) == (0, "")


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize(("level", "ports"), [("crossbar", 5), ("benes", 4)])
def test_verilator_finds_nothing_in_baselines(level: str, ports: int, tmp_path: Path) -> None:
    spec = SwitchSpec(ports=ports, format="fp16", lanes=1)
    check_lint(kept(generate, spec, level=level), tmp_path)


@pytest.mark.long
def test_a_switch_of_64_ports_stays_under_10_mb() -> None:
    spec = SwitchSpec(ports=64, lanes=1, format="int8")
    assert len(kept(generate, spec, level="switch").verilog) < 10_000_000
