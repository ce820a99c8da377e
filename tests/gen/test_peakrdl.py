"""Tests of gen.peakrdl: outputs for the registers of a switch."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from fred_hw.control.switch_map import switch_map
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from gen.peakrdl import PEAKRDL_KINDS, compile_rdl, peakrdl_files
from gen.system_rdl import system_rdl

REGISTERS = switch_map(load_spec("small-4"))


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return peakrdl_files("top", system_rdl(REGISTERS), list(PEAKRDL_KINDS))


def test_all_outputs_begin_with_the_name(files: dict[str, bytes]) -> None:
    first = {name.partition("/")[0] for name in files}
    assert first == {"top_html", "top_peakrdl.h", "top_ral_pkg.sv"}
    assert "top_html/index.html" in files


def test_only_requested_outputs_are_made() -> None:
    assert list(peakrdl_files("one", system_rdl(REGISTERS), ["c"])) == ["one_peakrdl.h"]


@pytest.mark.parametrize("kind", PEAKRDL_KINDS)
def test_package_of_each_output_is_named_if_it_is_missing(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = PEAKRDL_KINDS[kind].package
    assert version(package)
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    monkeypatch.setitem(sys.modules, f"{package.replace('-', '_')}.exporter", None)
    with pytest.raises(InputError, match=f"^{package}: must be installed"):
        peakrdl_files("one", system_rdl(REGISTERS), [kind])


def test_model_of_uvm_has_every_register(files: dict[str, bytes]) -> None:
    text = files["top_ral_pkg.sv"].decode()
    assert "package top_ral_pkg;" in text
    added = re.findall(r"add_reg\(this\.(\w+)(?:\[\w+\])?, '?h?([\w'+* ]+)", text)
    assert {name for name, _ in added} == {one.name for one in REGISTERS.registers}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c_header_has_the_offsets_of_the_map(files: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "top.h").write_bytes(files["top_peakrdl.h"])
    lines = ["#include <stddef.h>", '#include "top.h"']
    for one in REGISTERS.registers:
        place = f"offsetof({REGISTERS.name}_t, {one.name})"
        lines.append(f'_Static_assert({place} == {one.address}, "{one.name}");')
    (tmp_path / "check.c").write_text("\n".join([*lines, ""]))
    words = ["gcc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror", str(tmp_path / "check.c")]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


CLASH = """addrmap top {
    reg { field {} a; } ONE @ 0x0;
    reg { field {} a; } ONE @ 0x4;
};
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CLASH, "Multiple declarations of instance 'ONE'"),
        ("addrmap top { reg { field {} a; } ONE @ 0x0; reg { field {} a; } TWO @ 0x0; };", "over"),
        ("addrmap {", ""),
    ],
    ids=["clash", "overlap", "syntax"],
)
def test_errors_of_the_compiler_are_one_line(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "top.rdl"
    file.write_text(text)
    with pytest.raises(InputError, match=r"^top\.rdl: must be SystemRDL without errors, ") as said:
        compile_rdl(file)
    assert reason in str(said.value) and "\n" not in str(said.value)
