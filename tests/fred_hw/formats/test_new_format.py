"""A number format is one file: all pairs of 8-bit formats, with infinities and without.

This is also the exhaustive test of all arithmetic units that the edit loop can afford.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.formats.number_format import FORMATS, OVERFLOWS, FloatFormat, IntFormat
from fred_hw.operations.operation import fitting, float_type
from fred_hw.spec import SwitchSpec
from gen.emitter import VerilogEmitter
from testbench.models.arithmetic import combine
from testbench.sim.tools import icarus_bin
from tests.fred_hw.formats.e4m3 import E4M3
from tests.fred_hw.formats.e5m2 import E5M2
from tests.fred_hw.formats.uint8 import UINT8

Bytes = NDArray[np.uint8]
REFERENCES = ("sum", "max", "min")
"""Operations of which :func:`reference` knows what ml_dtypes and numpy make of values."""

TYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
REGISTERED = [form for form in FORMATS.values() if isinstance(form, FloatFormat)]
FORMS = [form for form in dict.fromkeys((E4M3, E5M2, *REGISTERED)) if form.width == 8]
"""These two, and all floats of a byte that are shipped, of which an equal one is the same."""

_SHIPPED = [form for form in FORMATS.values() if isinstance(form, IntFormat)]
INTEGERS = [form for form in dict.fromkeys((*_SHIPPED, UINT8)) if form.width == 8]
"""All integers of a byte that are shipped, and one without a sign."""

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


def all_pairs() -> tuple[Bytes, Bytes]:
    pairs = np.arange(1 << 16)
    return (pairs >> 8).astype(np.uint8), (pairs & 255).astype(np.uint8)


def reference(form: FloatFormat, operation: str) -> Bytes:
    """Return what ml_dtypes has for all pairs, every NaN as 0x7f, from values, not from bits."""
    kind = TYPES.get(form.name, float_type(form))
    a, b = (words.view(kind) for words in all_pairs())
    x, y = a.astype(np.float64), b.astype(np.float64)
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
    assert not ((words & 0x7F > form.canonical_nan) | (words == 0x80 | form.canonical_nan)).any()
    return np.where(words == form.canonical_nan, np.uint8(0x7F), words)


def in_hardware(units: Mapping[str, LaneUnit], folder: Path) -> dict[str, Bytes]:
    """Return what Icarus has for all pairs of bytes, by name of the unit."""
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


needs_icarus = pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")


@pytest.mark.slow_after_first
@pytest.mark.sim
@needs_icarus
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_pair_is_right_in_hardware(form: FloatFormat, tmp_path: Path) -> None:
    units = {name: reduction_unit(form, name, "saturate", 0) for name in fitting(form)}
    for name, got in in_hardware(units, tmp_path).items():
        if name in REFERENCES:
            np.testing.assert_array_equal(one_nan(got, form), reference(form, name), name)
        else:  # its own test holds its golden side against values by hand
            np.testing.assert_array_equal(got, combine(*all_pairs(), form, name), name)


@pytest.mark.slow_after_first
@pytest.mark.sim
@needs_icarus
@pytest.mark.parametrize("form", INTEGERS, ids=lambda form: form.name)
def test_every_pair_of_integers_is_right_in_hardware(form: IntFormat, tmp_path: Path) -> None:
    least, largest = (-128, 127) if form.signed else (0, 255)
    a, b = ((words.astype(int) - least) % 256 + least for words in all_pairs())
    wanted = {
        "saturate": np.clip(a + b, least, largest),
        "wrap": (a + b - least) % 256 + least,
        "max": np.maximum(a, b),
        "min": np.minimum(a, b),
    }
    cases = {name: ("sum", name) for name in OVERFLOWS}
    cases |= {name: (name, "wrap") for name in fitting(form) if name != "sum"}
    units = {name: reduction_unit(form, *case, 0) for name, case in cases.items()}
    assert wanted.keys() <= units.keys()
    for name, got in in_hardware(units, tmp_path).items():
        if name in wanted:
            np.testing.assert_array_equal((got.astype(int) - least) % 256 + least, wanted[name])
        np.testing.assert_array_equal(combine(*all_pairs(), form, *cases[name]), got, name)


@pytest.mark.parametrize("operation", REFERENCES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_pair_is_right_in_the_golden_model(form: FloatFormat, operation: str) -> None:
    got = combine(*all_pairs(), form, operation)
    np.testing.assert_array_equal(one_nan(got, form), reference(form, operation))


def test_format_says_what_is_special() -> None:
    def values(form: FloatFormat, *words: int | None) -> list[float]:
        codes = np.array([0 if word is None else word for word in words], np.uint8)
        return codes.view(TYPES[form.name]).astype(float).tolist()

    assert values(E4M3, E4M3.largest, E4M3.bias << 3, 1) == [448, 1, 2**-9]
    assert values(E5M2, E5M2.largest, E5M2.bias << 2, E5M2.infinity) == [57344, 1, float("inf")]
    assert E4M3.infinity is None
    assert (E4M3.first_nan, E4M3.canonical_nan) == (0x7F, 0x7F)
    assert (E5M2.first_nan, E5M2.canonical_nan) == (0x7D, 0x7E)
    assert (E4M3.beyond, E5M2.beyond) == (0x7F, E5M2.infinity)


def test_registered_format_can_be_specified() -> None:
    known = ", ".join(FORMATS)
    with pytest.raises(ValueError, match=f"must be one of {known}, not 'newcomer'"):
        SwitchSpec(ports=4, format="newcomer")
    new = replace(E4M3, name="newcomer")
    with FORMATS.lending(new.name, new):
        spec = SwitchSpec(ports=4, format="newcomer")
        assert (spec.number_format, spec.name) == (new, "fred_m3_p4_newcomerx4")
    assert "newcomer" not in FORMATS
