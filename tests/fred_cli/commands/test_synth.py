"""Tests of `fred synth`."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fred_cli import progress
from fred_cli.commands import characterize
from fred_hw.load import load_spec
from synth import synthesis
from synth.liberty import Libraries
from synth.synthesis import Source, Synthesis, synthesize
from synth.timing import find_opensta
from tests.fred_cli.fred import Fred
from tests.synth.sloped import sloped_liberty
from tests.synth.tiny import tiny_liberty

pytestmark = pytest.mark.usefixtures("kept_designs")
needs_opensta = pytest.mark.skipif(
    find_opensta() is None, reason="Debian's package opensta is not installed"
)

TWICE = "module twice(input clk, input i, output reg o); always @(posedge clk) o <= !i; endmodule\n"


@pytest.fixture
def tiny(place: Path) -> tuple[str, ...]:
    (place / "tiny.lib").write_text(tiny_liberty())
    return ("--liberty", "tiny.lib")


@pytest.mark.slow
def test_synth_says_area_and_clock_in_json(fred: Fred, tiny: tuple[str, ...]) -> None:
    report = fred.json("synth", "tiny-2", *tiny, "--clock", "10MHz")
    assert report["name"] == "fred_m3_p2_int8x1_a1" and report["effort"] == "speed"
    assert report["target_clock_ns"] == pytest.approx(100) and report["met"] is True
    assert 0 < report["clock_ns"] < 1 and report["clock_by"]
    assert report["area_um2"] > 300 and report["flip_flops"] == 43
    assert {unit["unit"] for unit in report["units"]} >= {"IntAdd", "RDMicroswitch"}
    # Without it a path of each kind of module stands for all.
    assert len(report["paths"]) == (5 if find_opensta() else 3)
    (library,) = report["provenance"]["libraries"]
    assert library["file"] == "tiny.lib" and re.fullmatch("[0-9a-f]{64}", library["sha256"])


@pytest.mark.slow
def test_synth_says_the_same_to_a_reader(fred: Fred, tiny: tuple[str, ...]) -> None:
    given = ("tiny-2", *tiny, "--effort", "area")
    report = fred.json("synth", *given, "--set", "clock_ns=1.5")
    assert report["target_clock_ns"] == 1.5
    out = fred.out("synth", *given)
    first, second, *_ = out.splitlines()
    assert first.startswith(f"fred_m3_p2_int8x1_a1: {report['area_um2']:,.1f} um2, ")
    assert second.startswith(f"shortest clock {report['clock_ns']:.4g} ns, meets 0.8533 ns; ")
    for row in ("adders", "bypass", "rd_microswitch_int8x1_a1", report["paths"][0]["start"]):
        assert row in out


@pytest.mark.slow
@needs_opensta
def test_synth_says_what_sizing_did(fred: Fred, place: Path) -> None:
    (place / "sloped.lib").write_text(sloped_liberty())
    given = ("synth", "tiny-2", "--liberty", "sloped.lib")
    report = fred.json(*given)
    done, out = report["sizing"], fred(*given)[1]
    assert done["by"] == "of the whole design"
    assert done["clock_before_ns"] > report["clock_ns"]
    assert out.splitlines()[2] == (
        f"sizing of the whole design: {done['cells_resized']:,} cells of other sizes, "
        f"{done['buffers_added']:,} buffers, {len(done['restructured'])} modules mapped in "
        f"another way; before {done['clock_before_ns']:.4g} ns, "
        f"{done['area_before_um2']:,.1f} um2"
    )
    off = fred.json(*given, "--no-sizing")
    assert off["sizing"] == {
        "by": "off",
        "cells_resized": 0,
        "buffers_added": 0,
        "restructured": [],
        "clock_before_ns": off["clock_ns"],
        "area_before_um2": off["area_um2"],
    }
    assert off["clock_ns"] == done["clock_before_ns"]
    assert fred(*given, "--no-sizing")[1].splitlines()[2] == "sizing off"


@pytest.mark.slow
def test_synth_writes_mapped_verilog_and_report(fred: Fred, tiny: tuple[str, ...]) -> None:
    report = fred.json("synth", "tiny-2", *tiny, "-o", "new/out")
    assert sorted(report.pop("files")) == sorted(map(str, Path("new/out").iterdir()))
    assert json.loads(Path("new/out/fred_m3_p2_int8x1_a1_synth.json").read_text()) == report
    assert "  DFF " in Path("new/out/fred_m3_p2_int8x1_a1_mapped.v").read_text()


def test_synth_takes_any_verilog(fred: Fred, place: Path, tiny: tuple[str, ...]) -> None:
    (place / "twice.v").write_text(TWICE)
    report = fred.json("synth", "--verilog", "twice.v", "--top", "twice", *tiny)
    assert (report["area_um2"], report["cells"], report["flip_flops"]) == (7.0, 2, 1)


@pytest.mark.slow
def test_a_library_is_known_by_its_name(fred: Fred, place: Path) -> None:
    (place / "twice.v").write_text(TWICE)
    (place / "nangate45").write_text("is a file, and not the library")
    report = fred.json("synth", "--verilog", "twice.v", "--top", "twice", "--liberty", "nangate45")
    assert report["area_um2"] == pytest.approx(4.522 + 0.532)  # DFF_X1 and INV_X1
    [library] = report["provenance"]["libraries"]
    assert library["library"] == "NangateOpenCellLibrary"


@pytest.mark.parametrize("command", ["synth tiny-2", "characterize small.yaml"])
def test_without_its_package_the_extra_of_a_library_is_named(
    command: str, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synth.installed.files", lambda _: None)
    said = refused(*command.split(), "--liberty", "nangate45")
    assert said == (
        "error: nangate45: must be installed to be used by name: pip install 'fred-hw[nangate45]'"
    )


@pytest.mark.parametrize("ending", ["mapped.v", "synth.json"])
@pytest.mark.parametrize("source", ["tiny-2", "--verilog twice.v --top twice"])
def test_folder_in_place_of_a_file_is_refused_before_the_work(
    refused: Callable[..., str],
    place: Path,
    tiny: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    ending: str,
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(synthesis, "generate", work)
    monkeypatch.setattr(synthesis, "map_design", work)
    (place / "twice.v").write_text(TWICE)
    name = "twice" if "twice" in source else "fred_m3_p2_int8x1_a1"
    (place / "out" / f"{name}_{ending}").mkdir(parents=True)
    said = refused("synth", *source.split(), *tiny, "-o", "out")
    assert said == f"error: out/{name}_{ending}: must be a file, not a directory"


def test_synth_for_an_fpga_counts_cells_and_writes_its_netlist(fred: Fred, place: Path) -> None:
    (place / "twice.v").write_text(TWICE)
    given = ("synth", "--verilog", "twice.v", "--top", "twice", "--fpga", "ice40")
    report = fred.json(*given, "-o", "out")
    assert report["resources"]["flip-flops"] == report["resources"]["LUTs"] == 1
    assert (report["memories"], report["routing"]) == ([], None)
    assert report["memory_bits"] == {"block memories": 0, "LUT memories": 0, "flip-flops": 0}
    assert report["files"] == ["out/twice_ice40.json", "out/twice_ice40_synth.json"]
    netlist = json.loads((place / "out/twice_ice40.json").read_text())
    kinds = {one["type"] for one in netlist["modules"]["twice"]["cells"].values()}
    assert kinds == {"SB_DFF", "SB_LUT4"}
    out = fred.out(*given)
    assert out.startswith("twice: ice40, 0 bits of memories: 0 in block memories, 0 in LUT ")


def test_synth_for_an_fpga_lists_memories(fred: Fred, place: Path) -> None:
    (place / "bank.v").write_text(
        "module bank(input clk, input w, input [3:0] a, input [3:0] i, output [3:0] o);\n"
        "  reg [3:0] words [0:15];\n"
        "  always @(posedge clk) if (w) words[a] <= i;\n"
        "  assign o = words[a];\n"
        "endmodule\n"
    )
    out = fred.out("synth", "--verilog", "bank.v", "--top", "bank", "--fpga", "ecp5")
    assert "64 bits of memories: 0 in block memories, 64 in LUT memories, 0 in flip" in out
    [row] = (line.split() for line in out.splitlines() if line.split()[:1] == ["words"])
    assert row == ["words", "1", "16", "4", "at", "any", "time", "LUT", "memories", "1"]


@pytest.mark.slow
def test_progress_is_told(
    fred: Fred, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_QUIET_S", 0.0)
    status, _, err = fred("synth", "tiny-2", *tiny)
    assert status == 0
    assert re.search(r"^\d of 5 modules mapped: \w+$", err, re.MULTILINE)
    assert re.search(r"^synthesizing fred_m3_p2_int8x1_a1: \d+ s$", err, re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("synth tiny-2", r"synth: --liberty: must be given, or --fpga in its place"),
        (
            "synth tiny-2 --liberty tiny.lib --fpga ecp5",
            r"synth: --liberty: must be left out with --fpga",
        ),
        (
            "synth tiny-2 --fpga ecp",
            r"--fpga: must be one of ecp5, ice40, xilinx, not 'ecp'; did you mean 'ecp5'\?",
        ),
        (
            "synth tiny-2 --fpga ecp5 --effort area",
            r"synth: --effort: must be given only with --liberty",
        ),
        (
            "synth tiny-2 --fpga ice40 --route",
            r"synth: --route: must be given only with --fpga ecp5, not ice40",
        ),
        (
            "synth tiny-2 --fpga ecp5 --clock 9ns",
            r"synth: --clock: must be given with --fpga only together with --route",
        ),
        (
            "synth tiny-2 --liberty tiny.lib --route",
            r"synth: --route: must be given only with --fpga",
        ),
        (
            "synth --liberty tiny.lib",
            r"synth: SPEC: must be given, or --verilog and --top in its place",
        ),
        (
            "synth tiny-2 --verilog twice.v --top twice --liberty tiny.lib",
            r"synth: --verilog: must be left out with SPEC",
        ),
        (
            "synth --verilog twice.v --top twice --liberty tiny.lib --level switch",
            r"synth: --level: must be given only with SPEC",
        ),
        (
            "synth --verilog twice.v --top twice --liberty tiny.lib --set lanes=1",
            r"synth: --set: must be given only with SPEC",
        ),
        (
            "synth --verilog twice.v --liberty tiny.lib",
            r"synth: --top: must be given with --verilog, and only with it",
        ),
        (
            "synth tiny-2 --top twice --liberty tiny.lib",
            r"synth: --top: must be given with --verilog, and only with it",
        ),
        (
            "synth --verilog missing.v --top a --liberty tiny.lib",
            r"missing\.v: must be an existing file, not a missing one",
        ),
        (
            "synth --verilog binary.yaml --top a --liberty tiny.lib",
            r"binary\.yaml: must be a text file in UTF-8, not binary data",
        ),
        (
            "synth --verilog a-file --top a --liberty tiny.lib",
            r"a-file: must be Verilog that Yosys maps, not with: line 1: syntax error, .*",
        ),
        (
            "synth x.v",
            r"x\.v: must be a specification; give Verilog by --verilog and --top, not as SPEC",
        ),
        ("synth one-port.yaml --liberty tiny.lib", r"one-port\.yaml: ports: .* 2 to 64, not 1"),
        ("synth tiny-2 --liberty small.yaml", r"small\.yaml: library: must be a Liberty file .*"),
        (
            "synth tiny-2 --liberty nangate",
            r"nangate: must be an existing file or the name of a library; did you .*",
        ),
        ("synth tiny-2 --liberty ./nangate45", r"nangate45: must be an existing file, .*"),
        ("synth tiny-2 --liberty none.lib", r"none\.lib: must be an existing file, .*"),
        (
            "synth tiny-2 --liberty tiny.lib --clock 2",
            r"--clock: must be a number above 0 with one of ps, ns, us, kHz, MHz, GHz, not '2'",
        ),
        ("synth tiny-2 --liberty tiny.lib --effort all", r"--effort: must be .*, not 'all'"),
        ("synth tiny-2 --liberty tiny.lib -o a-file/x", r"a-file/x: must be a folder, not a file"),
        (
            "synth missing.yaml --liberty tiny.lib -o /proc/x",
            r"/proc/x: must be a folder that can be written to, not one with: No such file .*",
        ),
        (
            "synth --verilog twice.v --top a;b --liberty tiny.lib",
            r"--top: must be a name of letters, digits, _ and \$, not 'a;b'",
        ),
        (
            "characterize small.yaml --effort area",
            r"characterize: --effort: .* only with --liberty",
        ),
        ("characterize small.yaml --no-sizing", r"characterize: --sizing: .* only with --liberty"),
        ("characterize small.yaml --liberty none.lib", r"none\.lib: must be an existing file, .*"),
    ],
)
def test_bad_input_is_one_line(
    refused: Callable[..., str], place: Path, tiny: tuple[str, ...], line: str, message: str
) -> None:
    (place / "twice.v").write_text(TWICE)
    said = refused(*line.split())
    assert re.fullmatch(f"error: {message}", said), said


def test_without_pyosys_the_extra_is_named(
    refused: Callable[..., str], tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("synth.mapping.version", absent)
    said = refused("synth", "tiny-2", *tiny)
    assert said == ("error: pyosys: must be installed for synthesis: pip install 'fred-hw[synth]'")


@pytest.mark.slow
def test_the_clock_of_a_record_may_be_synthesized(
    fred: Fred, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, Synthesis] = {}

    def once(source: Source, libraries: Libraries, **options: Any) -> Synthesis:
        """Synthesize once, and in place of the switch, which takes minutes, what is in it."""
        del options["progress"]
        asked = repr((source, [file.sha256 for file in libraries.files], sorted(options.items())))
        if asked not in found:
            inside = synthesis.from_spec(load_spec("tiny-2"), "interconnect", source.label)
            found[asked] = replace(synthesize(inside, libraries, **options), name=source.name)
        return found[asked]

    monkeypatch.setattr(synthesis, "synthesize", once)
    monkeypatch.setattr(
        "testbench.characterize.SwitchMeasurement.record", lambda *_: {"clock": None}
    )
    said = fred("characterize", "tiny-2", *tiny, "--json")
    assert said[0] == 0
    report = fred.json("synth", "tiny-2", "--level", "switch", *tiny)
    assert len(found) == 1, "both ask for the same"
    clock = json.loads(said[1])["clock"]
    assert clock["hz"] == pytest.approx(1e9 / report["clock_ns"])
    source, name = clock["source"], "fred_m3_p2_int8x1_a1_switch_link"
    assert source.startswith(f"synthesized: {name}, effort speed, sizing of")
    assert ", library tiny (sha" in source
    assert load_spec("tiny-2").lanes == 1 and characterize.command.name == "characterize"


def test_the_seed_is_checked_before_hours_of_synthesis(
    refused: Callable[..., str], tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synth.synthesis.synthesize", lambda *_, **__: pytest.fail("synthesized"))
    said = refused("characterize", "tiny-2", "--seed", "0", *tiny)
    assert said == "error: --seed: must be an integer of 1 or more, not '0'"


def test_a_clock_of_no_time_gets_no_record(
    refused: Callable[..., str], tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "testbench.characterize.SwitchMeasurement.record", lambda *_: {"clock": None}
    )
    found = SimpleNamespace(timing=SimpleNamespace(clock_ns=0.0))
    monkeypatch.setattr("synth.synthesis.from_spec", lambda *_: None)
    monkeypatch.setattr("synth.synthesis.synthesize", lambda *_, **__: found)
    said = refused("characterize", "tiny-2", *tiny, "-o", "x.json")
    assert said == "error: tiny.lib: timing: must give paths a delay, not 0 ns to all"


@pytest.mark.slow
def test_synth_says_what_pruning_saves(fred: Fred, tiny: tuple[str, ...], place: Path) -> None:
    (place / "needs.yaml").write_text("strategies: [MP1-DP1-PP2]")
    words = ("synth", "tiny-2", *tiny, "--effort", "area")
    full = fred.json(*words)["area_um2"]
    report = fred.json(*words, "--only", "needs.yaml")
    assert report["full_area_um2"] == full
    assert report["area_um2"] < full / 2
    saved = 1 - report["area_um2"] / full
    line = f"pruned: {saved:.1%} less area than the full interconnect of {full:,.1f} um2"
    assert line in fred.out(*words, "--only", "needs.yaml")
