"""Figures of docs/explanation/power.md are those that its commands print.

Names of nets move what ABC finds by about 1 %, so figures are compared with a tolerance.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from fred_cli.power_report import compared
from perfmodel.training.energy import read_energy

from .pages import ROOT, commands
from .printed import Printed
from .test_tables import rows

PAGE = "docs/explanation/power.md"
TEXT = " ".join((ROOT / PAGE).read_text("utf-8").split())
COMMANDS = [one.command.partition("fred ")[2] for one in commands(PAGE)]
TOLERANCE = 0.03


def near(cell: str, value: float, of: float = 0.0) -> bool:
    """Whether a figure of the page is near to a value, by the larger of itself and ``of``."""
    digits = len(cell.partition(".")[2])
    allowed = TOLERANCE * max(abs(value), of) + 0.51 * 10**-digits
    return abs(float(cell.replace(",", "")) - value) <= allowed


def told(pattern: str) -> list[str]:
    """Return the figures of a sentence of the page, which stands there once."""
    (found,) = re.findall(pattern.replace("#", r"([\d.,]+)"), TEXT)
    return [found] if isinstance(found, str) else list(found)


def test_figures_that_are_further_away_are_refused() -> None:
    assert near("10.0", 10.3) and near("0.0", 0.5, of=20.0) and near("0.1", 0.05)
    assert not near("10.0", 10.5) and not near("0.0", 0.7, of=20.0)


@pytest.mark.sim
@pytest.mark.slow
def test_an_interconnect(printed: Printed, tmp_path: Path) -> None:
    found = printed(f"{COMMANDS[0]} -o {tmp_path / 'work'}")
    workloads = found["workloads"]
    start = "The first command above gives, for four ports of four FP16 lanes at 1 ns and 1.1 V:"
    for name, *cells in rows(PAGE, start):
        for cell, one in zip(cells, workloads, strict=True):
            parts = {part["name"]: 1e3 * part["total_w"] for part in one["classes"]}
            total = parts["total"] = 1e3 * one["total"]["total_w"]
            parts["wires, not in the total"] = 1e3 * one["total"]["wires_w"]
            assert near(cell, parts[name], 0.0 if name == "total" else total * 2 / 3), name
    last = workloads[-1]
    energy, wafer = last["energy"], found["wafer"]
    above = "a flit takes # pJ, an addition # pJ and a reduced byte # pJ"
    sentences = {
        "A flit of 64 bits takes # pJ in the all-reduce": [energy["flit_pj"]],
        above: [energy[f"{name}_above_idle_pj"] for name in ("flit", "addition", "reduced_byte")],
        "Wires would add # % in": [100 * last["total"]["wires_w"] / last["total"]["total_w"]],
        r"\*\*# W\*\*": [wafer["estimate_w"]],
        "This is # times the published": [wafer["estimate_w"] / wafer["published_w"]],
    }
    for sentence, values in sentences.items():
        assert all(near(*pair) for pair in zip(told(sentence), values, strict=True)), sentence
    assert f"`{found['wire_load']}`" in TEXT
    addition = pytest.approx(energy["addition_above_idle_pj"], rel=TOLERANCE)
    assert read_energy("measured").addition_pj == addition


COMPARISON = rows(PAGE, "protocol. It prints:")


@pytest.mark.sim
@pytest.mark.long
def test_a_switch_and_a_mesh(printed: Printed, tmp_path: Path) -> None:
    found = printed(f"{COMMANDS[1]} -o {tmp_path / 'work'}")
    for (name, *cells), one in zip(COMPARISON, found["comparison"], strict=True):
        assert name == f"{one['figure']} [{one['unit']}]"
        values = [one[key] for key in ("switch", "mesh", "ratio")]
        assert all(near(*pair) for pair in zip(cells, values, strict=True)), name
    for report in (found, found["mesh"]):
        assert f"{report['memory_bits']:,} bits" in TEXT
    idle, *_, busy = (one["total"]["total_w"] for one in found["workloads"])
    (share,) = told("takes # % of the power of a busy switch")
    assert near(share, 100 * idle / busy)


def report(idle_w: float, busy_w: float, flits: int, added_bytes: int) -> dict[str, Any]:
    """Return what a comparison reads of a report, for 100 cycles of 1 ns."""

    def row(workload: str, watts: float, flits: int, added: int) -> dict[str, Any]:
        energy = {
            f"{name}{above}_pj": 1e5 * (watts - less) / count
            for name, count in (("flit", flits), ("reduced_byte", added))
            for above, less in (("", 0.0), ("_above_idle", idle_w))
            if count
        }
        total = {"total_w": watts}
        return {
            "workload": workload,
            "cycles": 100,
            "flits": flits,
            "total": total,
            "energy": energy,
        }

    busy = row("random", busy_w, flits, 0), row("all_reduce", busy_w, flits, added_bytes)
    return {"workloads": [row("idle", idle_w, 0, 0), *busy]}


def test_the_table_has_the_figures_and_ratios_of_the_comparison() -> None:
    """Ratios of the page are those of its figures, and of a comparison of two such reports."""
    found = compared(report(0.1, 0.2, 400, 300), report(0.2, 0.4, 400, 200))
    values = {one["figure"]: (one["switch"], one["mesh"], one["ratio"]) for one in found}
    assert values["all_reduce: flits delivered"] == (4.0, 4.0, 1.0)
    reduced = values["all_reduce: energy of a reduced byte, above idle"]
    assert reduced == pytest.approx((1e4 / 300, 1e2, 1 / 3))
    assert [name for name, *_ in COMPARISON] == [
        f"{one['figure']} [{one['unit']}]" for one in found
    ]
    for name, switch, mesh, ratio in COMPARISON:
        assert near(ratio, float(switch) / float(mesh)), name
    (times,) = told(r"A reduced byte takes # times as much energy on a mesh")
    last = next(row for row in COMPARISON if row[0].endswith("a reduced byte [pJ]"))
    assert near(times, float(last[2]) / float(last[1]))


def test_a_window_without_flits_has_no_energies_to_compare() -> None:
    empty, busy = report(0.1, 0.2, 400, 300), report(0.2, 0.4, 400, 200)
    for one in empty["workloads"]:
        one["flits"], one["energy"] = 0, dict.fromkeys(busy["workloads"][2]["energy"])
    found = {one["figure"]: one for one in compared(empty, busy)}
    assert found["random: energy of a flit"]["switch"] is None
    assert found["random: energy of a flit"]["ratio"] is None
    swapped = {one["figure"]: one for one in compared(busy, empty)}
    assert swapped["random: flits delivered"]["ratio"] is None
