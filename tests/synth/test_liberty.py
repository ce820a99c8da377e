"""Tests of synth.liberty."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth import liberty
from synth.liberty import read_libraries
from tests.synth.tiny import CELLS, tiny_liberty, tiny_libraries


def test_cells_have_areas_pins_and_functions(tmp_path: Path) -> None:
    libraries = tiny_libraries(tmp_path)
    (library,) = libraries.files
    assert (library.name, library.time_unit_s) == ("tiny", 1e-12)
    assert library.sha256 == hashlib.sha256((tmp_path / "tiny.lib").read_bytes()).hexdigest()
    assert libraries.cells.keys() == {*CELLS, "DFF"}
    nand = libraries.cells["NAND2"]
    assert (nand.area_um2, nand.inputs, nand.outputs) == (
        2.0,
        {"A": 2.0, "B": 2.0},
        {"Y": "!(A * B)"},
    )
    flip_flop = libraries.cells["DFF"]
    assert flip_flop.register and flip_flop.clocks == {"CK"} and not nand.register
    assert libraries.nand2 is nand
    assert libraries.driver is libraries.cells["BUFX2"]


def test_units_scale_capacitances(tmp_path: Path) -> None:
    path = tmp_path / "pico.lib"
    text = tiny_liberty().replace("(1, ff)", '(1.0, "pf")').replace('"1ps"', '"1ns"')
    path.write_text(text)
    (library,) = read_libraries([path]).files
    assert library.time_unit_s == 1e-9
    assert library.cells["INV"].inputs == {"A": 2000.0}


def test_gzip_is_read_as_the_text(tmp_path: Path) -> None:
    path = tmp_path / "tiny.lib.gz"
    path.write_bytes(gzip.compress(tiny_liberty().encode()))
    assert read_libraries([path]).cells == tiny_libraries(tmp_path).cells


def test_cells_not_meant_for_logic_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "odd.lib"
    text = tiny_liberty().replace("cell (BUF) {", "cell (tiny_dlygate) {")
    path.write_text(text.replace("cell (NOR2) {", "cell (NOR2) {\n dont_use : true;"))
    libraries = read_libraries([path])
    assert sorted(libraries.unusable) == ["NOR2", "tiny_dlygate"]
    assert libraries.driver is libraries.cells["BUFX2"]


def test_a_library_may_be_split(tmp_path: Path) -> None:
    gates, registers = tmp_path / "gates.lib", tmp_path / "registers.lib"
    gates.write_text(tiny_liberty(without=("DFF",)))
    registers.write_text(tiny_liberty(without=tuple(CELLS)))
    libraries = read_libraries([registers, gates])
    assert libraries.cells.keys() == {*CELLS, "DFF"}
    assert [library.path for library in libraries.files] == [registers, gates]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none.lib", None, r"none\.lib: must be an existing file, not a missing one"),
        ("bin.lib", b"\x80\xff\x00", r"bin\.lib: must be a Liberty file, .*, not binary data"),
        ("cut.lib", gzip.compress(b"library", mtime=0)[:-4], r"cut\.lib: .* gzip, not binary data"),
        (
            "bomb.lib",
            gzip.compress(bytes((1 << 16) + 1), mtime=0),
            r"bomb\.lib: must hold at most 65,536 bytes compressed by gzip, not more",
        ),
        ("large.lib", b" " * ((1 << 16) + 1), r"large\.lib: must be a file of at most 65,536 .*"),
        ("text.lib", b"ports: 4\n", r"text\.lib: library: must be .* with cells, not one without"),
        (
            "half.lib",
            tiny_liberty(without=("DFF",)).encode(),
            r"half\.lib: cell: must have a flip-flop, not 5 cells without",
        ),
        (
            "poor.lib",
            tiny_liberty(without=("NAND2",)).encode(),
            r"poor\.lib: cell: must have a NAND of two inputs, not 5 cells without",
        ),
        (
            "thin.lib",
            tiny_liberty(without=("INV",)).encode(),
            r"thin\.lib: cell: must have an inverter, not 5 cells without",
        ),
        ("zeros.lib", bytes(10), r"zeros\.lib: must be a Liberty file, .*, not binary data"),
        (
            "short.lib",
            tiny_liberty()[:-3].encode(),
            r"short\.lib: library: must end with its last }, not be cut short",
        ),
        (
            "double.lib",
            (tiny_liberty() * 2).encode(),
            r"double\.lib: cell INV: must occur once, not again",
        ),
    ],
)
def test_what_is_no_library_is_refused(
    tmp_path: Path, name: str, data: bytes | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liberty, "MAX_BYTES", 1 << 16)
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as refused:
        read_libraries([tmp_path / name])
    assert re.fullmatch(f".*/{message}", str(refused.value))


def test_libraries_of_different_units_are_refused(tmp_path: Path) -> None:
    tiny, other = tmp_path / "tiny.lib", tmp_path / "other.lib"
    tiny.write_text(tiny_liberty())
    other.write_text(tiny_liberty().replace('"1ps"', '"1ns"'))
    message = f"{other}: units: must have the time and capacitance units of {tiny}, not others"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        read_libraries([tiny, other])


@pytest.mark.slow_after_first
@pytest.mark.parametrize("part", ["a", "values(", "/* ", "{"])
def test_text_of_any_kind_is_read_in_one_go(tmp_path: Path, part: str) -> None:
    """In squared time it would take hours."""
    path = tmp_path / "long.lib"
    path.write_text(part * 700_000)
    with pytest.raises(InputError, match=r"library: must be a Liberty file with cells, not one"):
        read_libraries([path])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("area : 2.0", "area : big", r"cell BUFX2: area: must be a number of 0 or more, not 'big'"),
        ("area : 2.0", "area : nan", r"cell BUFX2: area: must be a number of .*, not 'nan'"),
        ("area : 2.0", "area : 1e999", r"cell BUFX2: area: must be a number of .*, not '1e999'"),
        ("area : 2.0", "area : -2", r"cell BUFX2: area: must be a number of .*, not '-2'"),
        ("area : 2.0", "area : 0", r"cell NAND2: area: must be above 0, .*"),
        ("area :", "size :", r"cell NAND2: area: must be above 0, .*"),
        ("capacitance : 2.0", "capacitance : x", r"cell INV: pin A: capacitance: must .*, not 'x'"),
        ('"1ps"', '"0ps"', r"time_unit: must be .* with one of ps, ns, us, fs, not \"0ps\""),
        ('"1ps"', '"1xs"', r"time_unit: must be .* with one of ps, ns, us, fs, not \"1xs\""),
        ('"1ps"', '"1.2.3ps"', r"time_unit: must be .*, not \"1\.2\.3ps\""),
        ("(1, ff)", "(1)", r"capacitive_load_unit: must be .* with one of ff, pf, not 1"),
        ("(1, ff)", "(x, ff)", r"capacitive_load_unit: must be .* of ff, pf, not x, ff"),
        ("(1, ff)", "(1, zf)", r"capacitive_load_unit: must be .* of ff, pf, not 1, zf"),
        ("(BUF)", "(B dly)", r"cell: must have a name of letters, .*, not 'B dly'"),
        ("(BUF)", "(-liberty)", r"cell: must have a name of letters, .*, not '-liberty'"),
        ("(BUF)", "(B[exit])", r"cell: must have a name of letters, .*, not 'B\[exit\]'"),
        ("(BUF)", "()", r"cell: must have a name of letters, digits, _, \$, \. and -, not ''"),
    ],
)
def test_what_no_cell_can_be_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "odd.lib"
    assert old in tiny_liberty()
    path.write_text(tiny_liberty().replace(old, new))
    with pytest.raises(InputError) as refused:
        read_libraries([path])
    assert re.fullmatch(f".*/odd\\.lib: {message}", str(refused.value))


def test_a_cell_of_two_libraries_is_refused(tmp_path: Path) -> None:
    tiny, other = tmp_path / "tiny.lib", tmp_path / "other.lib"
    for path in (tiny, other):
        path.write_text(tiny_liberty())
    message = f"{other}: cell INV: must be in one library, not also in {tiny}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        read_libraries([tiny, other])


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "marked.lib"
    path.write_text("\ufeff" + tiny_liberty(), encoding="utf-8")
    (library,) = read_libraries([path]).files
    assert library.text == tiny_liberty()


@pytest.mark.parametrize(
    ("pin", "state", "next_state", "inverts"),
    [
        ("IQ", "IQ, IQN", "D", False),
        ("IQN", "IQ, IQN", "D", True),
        ("IQ", "IQ, IQN", "(!D)", True),
        ("IQN", "IQN, IQNN", "!D", True),  # as ASAP7 says it
        ("IQN", "IQ, IQN", "D'", False),
        ("IQN", '"IQ","IQN"', "D", True),
        ("IQ", "IQ, IQN", "D * D", None),  # Yosys does not see through it
        ("IQ", "IQ, IQN", "!CK", None),
        ("!IQ", "IQ, IQN", "D", None),  # nobody writes it so
    ],
)
def test_a_flip_flop_may_invert(
    tmp_path: Path, pin: str, state: str, next_state: str, inverts: bool | None
) -> None:
    path = tmp_path / "odd.lib"
    text = tiny_liberty().replace('"IQ"', f'"{pin}"').replace("(IQ, IQN)", f"({state})")
    path.write_text(text.replace('next_state : "D"', f'next_state : "{next_state}"'))
    libraries = read_libraries([path])
    assert libraries.cells["DFF"].inverts is inverts and libraries.cells["INV"].inverts is None
    assert libraries.inverting_registers == ({"DFF": ("D", "Q")} if inverts else {})
    assert libraries.dear_registers == [], "there is no other"
