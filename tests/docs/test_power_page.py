"""Figures of docs/explanation/power.md are those that its commands print."""

from pathlib import Path

import pytest

from perfmodel.training.energy import read_energy

from .pages import ROOT, commands
from .printed import Printed, like
from .test_tables import rows

PAGE = "docs/explanation/power.md"
TEXT = " ".join((ROOT / PAGE).read_text("utf-8").split())
COMMANDS = [one.command.partition("fred ")[2] for one in commands(PAGE)]


@pytest.mark.sim
@pytest.mark.slow
def test_an_interconnect(printed: Printed, tmp_path: Path) -> None:
    found = printed(f"{COMMANDS[0]} -o {tmp_path / 'work'}")
    workloads = found["workloads"]
    told = rows(
        PAGE, "The first command above gives, for four ports of four FP16 lanes at 1 ns and 1.1 V:"
    )
    for name, *cells in told:
        for cell, one in zip(cells, workloads, strict=True):
            parts = {part["name"]: part["total_w"] for part in one["classes"]}
            parts["total"] = one["total"]["total_w"]
            parts["wires, not in the total"] = one["total"]["wires_w"]
            assert cell == like(cell, 1e3 * parts[name])
    last = workloads[-1]
    energy, wafer = last["energy"], found["wafer"]
    assert f"A flit of 64 bits takes {energy['flit_pj']:.2f} pJ in the all-reduce" in TEXT
    above = (
        f"a flit takes {energy['flit_above_idle_pj']:.2f} pJ, an addition "
        f"{energy['addition_above_idle_pj']:.3f} pJ and a reduced byte "
        f"{energy['reduced_byte_above_idle_pj']:.3f} pJ"
    )
    assert above in TEXT
    share = last["total"]["wires_w"] / last["total"]["total_w"]
    assert f"Wires would add {100 * share:.0f} %" in TEXT and f"`{found['wire_load']}`" in TEXT
    assert f"**{wafer['estimate_w']:.1f} W**" in TEXT
    assert f"This is {wafer['estimate_w'] / wafer['published_w']:.1f} times the published" in TEXT
    assert read_energy("measured").addition_pj == pytest.approx(
        energy["addition_above_idle_pj"], rel=0.001
    )


@pytest.mark.sim
@pytest.mark.long
def test_a_switch(printed: Printed, tmp_path: Path) -> None:
    found = printed(f"{COMMANDS[1]} -o {tmp_path / 'work'}")["workloads"]
    told = rows(
        PAGE, "The second command gives, for a whole switch of four ports of one INT8 lane at 1 ns:"
    )
    wanted = (
        [1e3 * one["total"]["total_w"] for one in found],
        [one["flits"] for one in found],
        [one["energy"]["flit_pj"] for one in found],
        [one["energy"]["flit_above_idle_pj"] for one in found],
    )
    for (_, *cells), values in zip(told, wanted, strict=True):
        for cell, value in zip(cells, values, strict=True):
            assert cell == ("" if value is None else like(cell, value))
    idle, busy = found[0]["total"]["total_w"], found[-1]["total"]["total_w"]
    assert f"takes {100 * idle / busy:.0f} % of the power of a busy switch" in TEXT
