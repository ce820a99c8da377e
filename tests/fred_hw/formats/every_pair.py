"""All pairs of bytes through golden model and hardware of a format, for the tests of formats."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.formats.number_format import OVERFLOWS, FloatFormat, IntFormat
from fred_hw.operations.operation import fitting
from gen.emitter import VerilogEmitter
from testbench.models.arithmetic import combine
from testbench.sim.tools import icarus_bin

__all__ = ["check_floats", "check_floats_in_hardware", "check_integers", "in_hardware", "simulated"]

Bytes = NDArray[np.uint8]
REFERENCES = ("sum", "max", "min")
"""Operations for which :func:`reference` computes values with numpy and ml_dtypes."""

BENCH = """
module bench;
  integer pair, file;
  reg [7:0] a, b;
  {wires}
  initial begin
    file = $fopen("results", "w");
    for (pair = 0; pair < 65536; pair = pair + 1) begin
      {{a, b}} = pair;
      #1 $fwrite(file, "{formats}\\n", {results});
    end
    $finish;
  end
endmodule
"""


def simulated(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that needs Icarus."""
    missing = pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")
    return pytest.mark.sim(missing(test))


def all_pairs() -> tuple[Bytes, Bytes]:
    pairs = np.arange(1 << 16)
    return (pairs >> 8).astype(np.uint8), (pairs & 255).astype(np.uint8)


def reference(form: FloatFormat, kind: type, operation: str) -> Bytes:
    """Return the results of ml_dtypes for all pairs, computed from values and not from bits.

    Every NaN is 0x7f.
    """
    mask = (1 << form.bits) - 1
    x, y = ((words & mask).view(kind).astype(np.float64) for words in all_pairs())
    with np.errstate(all="ignore"):
        if operation == "sum":
            found = (x + y).astype(kind)
        else:
            picks = np.fmax if operation == "max" else np.fmin
            negative = {"max": np.logical_and, "min": np.logical_or}[operation]
            # Zeros are equal as values: the sign decides between them.
            zero = np.copysign(0.0, np.where(negative(np.signbit(x), np.signbit(y)), -1.0, 1.0))
            found = np.where((x == 0) & (y == 0), zero, picks(x, y)).astype(kind)
    return np.where(np.isnan(found), np.uint8(0x7F), found.view(np.uint8))


def one_nan(words: Bytes, form: FloatFormat) -> Bytes:
    """Return results with 0x7f for the canonical NaN; fail if there are others."""
    if form.canonical_nan is None:
        return words
    assert not ((words & 0x7F > form.canonical_nan) | (words == 0x80 | form.canonical_nan)).any()
    return np.where(words == form.canonical_nan, np.uint8(0x7F), words)


def in_hardware(units: Mapping[str, LaneUnit], folder: Path) -> dict[str, Bytes]:
    """Return the results of Icarus for all pairs of bytes, by name of the unit."""
    emitter = VerilogEmitter()
    for unit in units.values():
        emitter.add(unit)
    bench = BENCH.format(
        wires="\n  ".join(
            f"wire [7:0] o_{name}; "
            f"{unit.unit_name} u_{name}(.i0(a), .i1(b), .together(2'd3), .o(o_{name}));"
            for name, unit in units.items()
        ),
        formats=" ".join("%d" for _ in units),
        results=", ".join(f"o_{name}" for name in units),
    )
    (folder / "bench.v").write_text(emitter.verilog() + bench)
    tools = icarus_bin()
    assert tools is not None
    for command in (["iverilog", "-g2005", "-o", "bench", "bench.v"], ["vvp", "bench"]):
        subprocess.run([tools / command[0], *command[1:]], cwd=folder, check=True)
    results = np.loadtxt(folder / "results", dtype=np.uint8)
    assert results.shape == (1 << 16, len(units))
    return dict(zip(units, results.T, strict=True))


def check_floats(form: FloatFormat, kind: type) -> None:
    """Compare the golden model of a float in a byte with a type of ml_dtypes."""
    for operation in REFERENCES:
        got = one_nan(combine(*all_pairs(), form, operation).astype(np.uint8), form)
        np.testing.assert_array_equal(got, reference(form, kind, operation), operation)


def check_floats_in_hardware(form: FloatFormat, kind: type, folder: Path) -> None:
    """Compare the hardware of a float in a byte with a type of ml_dtypes."""
    units = {name: reduction_unit(form, name, "saturate", 0) for name in fitting(form)}
    for name, got in in_hardware(units, folder).items():
        if name in REFERENCES:
            np.testing.assert_array_equal(one_nan(got, form), reference(form, kind, name), name)
        else:  # the test of the operation checks its golden model
            np.testing.assert_array_equal(got, combine(*all_pairs(), form, name), name)


def check_integers(form: IntFormat, folder: Path) -> None:
    """Compare golden model and hardware of an integer in a byte with integers of numpy."""
    size = 1 << form.bits
    least = -size // 2 if form.signed else 0
    largest = least + size - 1

    def values(words: Bytes) -> NDArray[np.int64]:
        numbers = (words.astype(int) >> form.padding_below) % size
        return (numbers - least) % size + least

    a, b = map(values, all_pairs())
    wanted: dict[str, NDArray[Any]] = {
        "saturate": np.clip(a + b, least, largest),
        "wrap": (a + b - least) % size + least,
        "max": np.maximum(a, b),
        "min": np.minimum(a, b),
    }
    cases = {name: ("sum", name) for name in OVERFLOWS}
    cases |= {name: (name, "wrap") for name in fitting(form) if name != "sum"}
    units = {name: reduction_unit(form, *case, 0) for name, case in cases.items()}
    assert wanted.keys() <= units.keys()
    for name, got in in_hardware(units, folder).items():
        if name in wanted:
            np.testing.assert_array_equal(values(got), wanted[name], name)
            padding = got.astype(int) & ~(size - 1 << form.padding_below)
            assert not padding.any(), name
        np.testing.assert_array_equal(combine(*all_pairs(), form, *cases[name]), got, name)
