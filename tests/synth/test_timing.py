"""Tests of synth.timing: paths of a design by hand, and what is said without OpenSTA."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.mapping import Mapped
from synth.netlist import read_netlist
from synth.timing import Timing, estimate, find_opensta, time_design
from tests.synth.netlists import two_lanes
from tests.synth.tiny import CELLS, CLK_TO_Q_PS, SETUP_PS, tiny_libraries

needs_opensta = pytest.mark.skipif(
    find_opensta() is None, reason="Debian's package opensta is not installed"
)
INV, NAND2 = CELLS["INV"][3], CELLS["NAND2"][3]


def timed(mapped: Mapped, folder: Path, **most: int) -> Timing:
    libraries = tiny_libraries(folder)
    (folder / "cells-0.lib").write_text(libraries.files[0].text)
    modules = read_netlist(mapped.verilog, libraries)
    return time_design(modules, mapped, libraries, 0.1, folder, **most)


@needs_opensta
def test_paths_are_sums_of_their_cells(tmp_path: Path) -> None:
    timing = timed(two_lanes(), tmp_path)
    assert (timing.cells, timing.kept) == (11, None)
    first, *_ = timing.paths
    across = CLK_TO_Q_PS + 2 * INV + SETUP_PS
    assert timing.clock_ns == first.clock_ns == pytest.approx(across / 1000)
    assert (first.start, first.end) == ("lane_1.held[1]", "o")
    assert (first.levels, first.through) == (2, ["lane_1"])
    found = {(path.start, path.end): (path.clock_ns, path.levels) for path in timing.paths}
    inside = CLK_TO_Q_PS + NAND2 + SETUP_PS
    into = CLK_TO_Q_PS + 2 * INV
    out = NAND2 + SETUP_PS
    periods = sorted((period for period, _ in found.values()), reverse=True)
    assert periods == pytest.approx([across / 1000, inside / 1000, into / 1000, *periods[3:]])
    assert any(start.startswith("i[") for start, _ in found) and out < into
    assert any(end.startswith("store.WADDR") for _, end in found)


@needs_opensta
def test_one_of_equal_instances_stands_for_all(tmp_path: Path) -> None:
    whole, part = timed(two_lanes(), tmp_path), timed(two_lanes(), tmp_path, most=10)
    assert (part.cells, part.kept) == (6, 1)
    inside = CLK_TO_Q_PS + NAND2 + SETUP_PS
    assert part.clock_ns == pytest.approx(inside / 1000)
    assert part.clock_ns < whole.clock_ns, "the path from the lane that was left out"


@needs_opensta
def test_what_opensta_refuses_is_said(tmp_path: Path) -> None:
    mapped = two_lanes()
    broken = Mapped("nothing", mapped.verilog, mapped.memories, mapped.delays)
    libraries = tiny_libraries(tmp_path)
    modules = read_netlist(broken.verilog, libraries)
    modules["nothing"] = modules["top"]
    with pytest.raises(InputError, match=r"^OpenSTA: must take the mapped design, not end with: "):
        time_design(modules, broken, libraries, 0.1, tmp_path)


def test_without_opensta_the_estimate_names_itself() -> None:
    timing = estimate(two_lanes())
    assert timing.by.startswith("Yosys's own estimate (ABC): ")
    assert timing.clock_ns == 0.018 and timing.cells == 0
    assert [(path.start, path.clock_ns, path.levels) for path in timing.paths] == [
        ("lane", 0.018, 2)
    ]
