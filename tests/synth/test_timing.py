"""Tests of synth.timing: paths of a design by hand, and what is said without OpenSTA."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.mapping import Mapped
from synth.timing import Timing, estimate, find_opensta, time_design
from tests.synth.netlists import two_lanes
from tests.synth.tiny import CELLS, CLK_TO_Q_PS, SETUP_PS, tiny_libraries

needs_opensta = pytest.mark.skipif(
    find_opensta() is None, reason="Debian's package opensta is not installed"
)
INV, NAND2 = CELLS["INV"][3], CELLS["NAND2"][3]


HALVES = Mapped(
    "top",
    """\
module top(clk, d, o);
  input clk;
  wire clk;
  input d;
  wire d;
  output o;
  wire o;
  wire b;
  wire r;
  INV a (
    .A(clk),
    .Y(b)
  );
  DFF r_reg (
    .CK(b),
    .D(d),
    .Q(r)
  );
  DFF q_reg (
    .CK(clk),
    .D(r),
    .Q(o)
  );
endmodule
""",
    {},
    {},
)
"""A register at the falling edge in front of one at the rising edge."""


def timed(mapped: Mapped, folder: Path, period_ns: float = 0.1, **most: int) -> Timing:
    libraries = tiny_libraries(folder)
    (folder / "cells-0.lib").write_text(libraries.files[0].text)
    return time_design(mapped, libraries, period_ns, folder, **most)


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
@pytest.mark.parametrize("period_ns", [1e-9, 1.0, 1e12])
def test_the_period_asked_for_does_not_matter(tmp_path: Path, period_ns: float) -> None:
    found = timed(two_lanes(), tmp_path, period_ns=period_ns)
    assert found.clock_ns == pytest.approx(timed(two_lanes(), tmp_path).clock_ns, abs=1e-5)


@needs_opensta
@pytest.mark.parametrize("period_ns", [0.01, 1.0])
def test_between_edges_of_both_kinds_is_half_a_period(tmp_path: Path, period_ns: float) -> None:
    timing = timed(HALVES, tmp_path, period_ns=period_ns)
    found = {(path.start, path.end): path.clock_ns for path in timing.paths}
    assert found["r", "q"] == pytest.approx(2 * (CLK_TO_Q_PS + SETUP_PS) / 1000)
    assert found["d", "r"] == pytest.approx(2 * SETUP_PS / 1000)


@needs_opensta
def test_registers_without_a_clock_are_told(tmp_path: Path) -> None:
    verilog = HALVES.verilog.replace(".CK(b)", ".CK(o)")
    timing = timed(Mapped("top", verilog, {}, {}), tmp_path)
    assert timing.by.endswith("wires; registers that no port clocks are not timed: 1")


@needs_opensta
def test_names_are_no_commands(tmp_path: Path) -> None:
    port = "}];exit;é[exit]"
    verilog = HALVES.verilog.replace(" d", f" \\{port} ").replace("(d)", f"(\\{port} )")
    verilog = verilog.replace("r_reg", "\\$g[0].r ").replace("module top", "module \\cell ")
    timing = timed(Mapped("cell", verilog, {}, {}), tmp_path)
    assert {(path.start, path.end) for path in timing.paths} >= {(port, "$g[0].r.D"), ("q", "o")}


@needs_opensta
def test_what_opensta_refuses_is_said(tmp_path: Path) -> None:
    libraries = tiny_libraries(tmp_path)  # which is not where its cells are looked for
    with pytest.raises(InputError, match=r"^OpenSTA: must take the mapped design, not end with: "):
        time_design(two_lanes(), libraries, 0.1, tmp_path)
    log = (tmp_path / "timing.log").read_text()
    assert "Error" in log and "fred end" not in log, "it went on after the error"


def test_without_opensta_the_estimate_names_itself() -> None:
    timing = estimate(two_lanes())
    assert timing.by.startswith("Yosys's own estimate (ABC): ")
    assert timing.clock_ns == 0.018 and timing.cells == 0
    assert [(path.start, path.clock_ns, path.levels) for path in timing.paths] == [
        ("lane", 0.018, 2)
    ]


def test_a_tool_of_another_kind_has_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sta").write_text("#!/bin/sh\nprintf 'a\\377\\nb\\n'\n")
    (tmp_path / "sta").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_opensta() == "a\ufffd b"
