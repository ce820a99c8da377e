"""Verilog that would run code, read files, or never end: each is refused in a line."""

import resource
import sys
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.mapping import MapOptions, map_design
from synth.process import Limits, reading
from synth.synthesis import from_verilog
from tests.synth.tiny import tiny_libraries

IMPORT = 'import "DPI-C" function integer getpid();'
USE = "localparam P = getpid(); assign y = a ^ P;"
WRITTEN = "owned"

CODE = {
    "plain": f"module t(input a, output y); {IMPORT} {USE} endmodule",
    "top": f"{IMPORT} module t(input a, output y); {USE} endmodule",
    "package": f"package p; {IMPORT} endpackage module t(input a, output y);"
    " localparam P = p::getpid(); assign y = a ^ P; endmodule",
    "macro": f"`define I {IMPORT}\nmodule t(input a, output y);\n`I\n{USE} endmodule",
    "pasted": f"`define I(x) x``ort {IMPORT[7:]}\nmodule t(input a, output y);\n`I(imp)\n{USE}"
    " endmodule",
    "comments": 'module t(input a, output y); import/*\n*/"DPI-C"// c\nfunction\ninteger getpid();'
    f" {USE} endmodule",
    "$system": f'module t(input a, output y); localparam P = $system("touch {WRITTEN}");'
    " assign y = a ^ P; endmodule",
    "$fopen": f'module t(output y); integer f; initial f = $fopen("{WRITTEN}"); endmodule',
    "$writememh": f'module t(output y); reg m[0:1]; initial $writememh("{WRITTEN}", m); endmodule',
}

FILES = {
    "include of a macro": '`define F "FILE"\n`include `F\nmodule t(output y); endmodule',
    "include in a macro": '`define I `include "FILE"\n`I\nmodule t(output y); endmodule',
    "device": '`define F "/dev/zero"\n`include `F\nmodule t(output y); endmodule',
    "$readmemh": 'module t(input a, output y); reg m[0:1]; initial $readmemh("FILE", m);'
    " assign y = m[a]; endmodule",
    "$readmemb of a parameter": "module u #(parameter F = 0)(input a, output y); reg m[0:1];"
    " initial if (F) $readmemb(F, m); assign y = m[a]; endmodule"
    ' module t(input a, output y); u #(.F("FILE")) v(a, y); endmodule',
}

ENDLESS = {
    "macro": "`define X `X\n`X",
    "doubling macros": "`define A0 x\n"
    + "".join(f"`define A{k + 1} `A{k} `A{k}\n" for k in range(40))
    + "`A40",
    "constant function": "module t(output y); function f(input x); integer i; begin f = 0;"
    " for (i = 0; i >= 0; i = i + 1) f = ~f; end endfunction localparam P = f(0); endmodule",
    "recursive function": "module t(output y); function automatic integer f(input integer x);"
    " f = f(x + 1); endfunction localparam P = f(0); endmodule",
    "generate": "module t(output y); genvar i; generate for (i = 0; i < 100000000; i = i + 1)"
    " wire a; endgenerate endmodule",
    "parameters": "module t #(parameter N = 0)(input a, output y); t #(N + 1) u(a, y); endmodule",
    "power": "module t(output y); localparam [100000:0] P = 3 ** (2 ** 30); endmodule",
    "operators": f"module t(input a, output y); assign y = {200_000 * '~'}a; endmodule",
    "text": "module t(output y); integer i; initial for (i = 0; i >= 0; i = i + 1)"
    ' $display("%d", i); endmodule',
}


def refusal(text: str, folder: Path) -> str:
    """Return why Verilog is refused."""
    (folder / "t.v").write_text(text)
    work = folder / "work"
    work.mkdir()
    text, libraries = from_verilog(folder / "t.v", "t").verilog, tiny_libraries(work)
    with pytest.raises(InputError) as refused:
        map_design(text, "t", libraries, work, MapOptions("area", "t.v"))
    assert not list(folder.rglob(WRITTEN))
    return str(refused.value)


@pytest.mark.parametrize("kind", CODE)
def test_no_code_is_run(kind: str, tmp_path: Path) -> None:
    refused = refusal(CODE[kind], tmp_path)
    assert "DPI" in refused or "resolve" in refused or "TOK_IMPORT" in refused, refused


@pytest.mark.parametrize("kind", FILES)
def test_no_other_file_is_opened(kind: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1\n0\n")
    refused = refusal(FILES[kind].replace("FILE", str(tmp_path / "secret")), tmp_path)
    assert "not open" in refused or "n't open" in refused or "directive" in refused, refused


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", ENDLESS)
def test_what_never_ends_is_ended(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synth.mapping.reading", lambda _: Limits(2, 768 << 20))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    refused = refusal(ENDLESS[kind], tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "at most, not more" in refused or "by SIGSEGV" in refused, refused
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 4
    # Of all children of this process the largest, in KiB: earlier tests may have had larger ones,
    # and until a child executes its program, it has the memory of this process.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after.ru_maxrss <= max(before.ru_maxrss, own, 1 << 20) or sys.platform == "darwin"


@pytest.mark.parametrize(("size", "limits"), [(0, (5, 768 << 20)), (5 << 20, (45, 3328 << 20))])
def test_limits_grow_with_the_text(size: int, limits: tuple[int, int]) -> None:
    assert reading(size * " ") == Limits(*limits)


@pytest.mark.parametrize(
    ("text", "cycle"),
    [
        ("module t(input a, output y); t u(a, y); endmodule", "t < t"),
        ("module t(); s u(); endmodule module s(); t u(); endmodule", "s < t < s"),
    ],
)
def test_a_module_in_itself_is_refused(text: str, cycle: str, tmp_path: Path) -> None:
    refused = refusal(text, tmp_path)
    assert refused == f"t.v: module {cycle[0]}: must not contain itself, as in {cycle}"


def test_a_file_beside_the_input_is_included_and_its_errors_name_it(tmp_path: Path) -> None:
    (tmp_path / "b.vh").write_text("\nassign y = ;\n")
    refused = refusal('module t(output y);\n`include "b.vh"\nendmodule\n', tmp_path)
    assert refused.startswith(
        "t.v: must be Verilog that Yosys maps, not with: b.vh: line 2: syntax error"
    )
