"""Tests of `fred gen`."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.compiler.shape import microswitch_counts
from gen.level import LEVELS
from tests.fred_cli.fred import Fred


def test_gen_writes_the_files_that_it_lists(fred: Fred, place: Path) -> None:
    said = fred.json("gen", "small.yaml", "-o", "out/rtl")
    files = [Path(name) for name in said["files"]]
    assert sorted(files) == sorted(Path("out/rtl").iterdir())
    assert {file.suffix for file in files} >= {".v", ".json", ".core"}
    verilog = Path("out/rtl/fred_m3_p4_int8x1.v")
    (manifest,) = [json.loads(file.read_text()) for file in files if file.suffix == ".json"]
    assert said["name"] == "fred_m3_p4_int8x1"
    assert said["verilog_bytes"] == verilog.stat().st_size
    assert said["latency_cycles"] == manifest["latency_cycles"] == 3
    assert said["microswitches"] == microswitch_counts(4, 3)
    assert said["modules"] and len(set(said["modules"])) == len(said["modules"])


TOLD = (
    "acks hold all-reduces of all ports to about 0.981 flits per port and cycle; "
    "larger protocol.packet_flits have more"
)


@pytest.mark.slow
@pytest.mark.usefixtures("kept_designs")
def test_gen_writes_an_endpoint_and_its_companions(fred: Fred, place: Path) -> None:
    level = ("--level", "endpoint", "--set", "endpoint.fsms=1")
    said = fred.json("gen", "small.yaml", *level, "-o", "out")
    files = {Path(name) for name in said["files"]}
    assert files == set(Path("out").iterdir())
    name = "npu_p4_int8x1_endpoint_link_ace_m1"
    assert {file.name for file in files} >= {f"{name}.v", f"{name}.vlt", f"{name}_registers.h"}
    assert (said["name"], said["latency_cycles"]) == (name, 14)
    assert "microswitches" not in said
    assert f"module {name}(" in (place / "out" / f"{name}.v").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("kept_designs")
def test_gen_of_a_mesh_says_when_the_window_is_too_small(fred: Fred) -> None:
    """Three links of 47 cycles and two routers of 8, each way: 16 + 22 + 1 packets."""
    words = ("gen", "mesh.yaml", "--level", "mesh", "--set", "width=2", "--set", "height=1")
    out = fred.out(*words, "--set", "protocol.window_packets=32", "-o", "out")
    assert out.splitlines()[1] == (
        "protocol.window_packets holds the longest path, a round trip of 173 cycles, below full "
        "rate: it takes 39 packets that are not acknowledged, not 32"
    )
    assert json.loads(fred.out(*words, "-o", "out", "--json"))["replay"]["bound"] is None


def test_gen_says_the_same_to_a_reader(fred: Fred) -> None:
    out = fred.out("gen", "small.yaml", "-o", "out")
    first, second, *files = out.splitlines()
    assert re.fullmatch(r"fred_m3_p4_int8x1: \d+ modules, [\d,]+ bytes, latency 3 cycles", first)
    assert second == "2 R; 2 D; 3 RD"
    assert sorted(map(str.strip, files)) == sorted(map(str, Path("out").iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("window", "rate"), [(32, 0.981), pytest.param(64, 1, marks=pytest.mark.long)]
)
@pytest.mark.usefixtures("kept_designs")
def test_gen_says_what_acks_hold_all_reduces_to(fred: Fred, window: int, rate: float) -> None:
    changes = ("ports=2", "protocol.phases=1", f"protocol.window_packets={window}")
    options = [word for change in changes for word in ("--set", change)]
    _, out, _ = fred("gen", "small.yaml", "--level", "switch", *options, "-o", "out")
    told = [line for line in out.splitlines() if line.startswith("acks")]
    assert told == ([] if rate == 1 else [TOLD])
    said = fred("gen", "small.yaml", "--level", "switch", *options, "-o", "out", "--json")[1]
    assert json.loads(said)["acks"] == {"interval": 16, "flits_per_cycle": rate}


@pytest.mark.parametrize("spec", ["small.yaml", pytest.param("odd-5", marks=pytest.mark.slow)])
def test_gen_twice_gives_identical_bytes(fred: Fred, spec: str) -> None:
    for folder in ("one", "two"):
        assert fred("gen", spec, "-o", folder)[0] == 0
    one = {path.name: path.read_bytes() for path in Path("one").iterdir()}
    assert len(one) >= 4
    assert one == {path.name: path.read_bytes() for path in Path("two").iterdir()}


def test_set_changes_the_specification(fred: Fred) -> None:
    said = fred.json("gen", "small.yaml", "--set", "ports=2", "--set", "format=bf16", "-o", "out")
    assert said["name"] == "fred_m3_p2_bf16x1"


def test_levels_are_those_that_can_be_generated(fred: Fred) -> None:
    (options,) = re.findall(r"--level \[(.*?)\]", fred("gen", "--help")[1], re.DOTALL)
    assert options.split("|") == list(LEVELS)


@pytest.mark.slow
@pytest.mark.usefixtures("kept_designs")
def test_gen_writes_outputs_of_peakrdl(fred: Fred, place: Path) -> None:
    outputs = ("--peakrdl", "html", "--peakrdl", "uvm")
    words = ("gen", "tiny-2", "--level", "switch", *outputs, "-o", "out")
    name = "fred_m3_p2_int8x1_a1_switch_link"
    files = fred.json(*words)["files"]
    assert {f"out/{name}_html/index.html", f"out/{name}_ral_pkg.sv"} <= set(files)
    assert f"out/{name}_peakrdl.h" not in files
    assert all(Path(file).is_file() for file in files)
    listed = {line.strip() for line in fred.out(*words).splitlines() if line.startswith("  ")}
    assert {file for file in listed if "_html/" in file} == {f"out/{name}_html/index.html"}


def test_gen_refuses_outputs_of_peakrdl(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--peakrdl", "c", "-o", "out")
    assert refused("gen", "tiny-2", *words) == (
        "error: --peakrdl: must be given with --level switch or endpoint, not interconnect"
    )
    twice = "reg { field {} a; } ONE @ 0x0; reg { field {} a; } ONE @ 0x4;"
    monkeypatch.setattr("gen.system_rdl.system_rdl", lambda _: f"addrmap top {{ {twice} }};")
    assert refused("gen", "tiny-2", "--level", "switch", *words).startswith(
        "error: fred_m3_p2_int8x1_a1_switch_link_registers.rdl: must be SystemRDL without errors, "
    )
    monkeypatch.setitem(sys.modules, "systemrdl.compiler", None)
    assert refused("gen", "tiny-2", "--level", "switch", *words).startswith(
        "error: systemrdl-compiler: must be installed for SystemRDL: pip install 'fred-hw[rdl]'"
    )


NEEDS = "strategies: [MP2-DP2-PP1]"


def test_gen_prunes_to_strategies_and_says_what_is_kept(fred: Fred, place: Path) -> None:
    (place / "needs.yaml").write_text(NEEDS)
    out = fred.out("gen", "small.yaml", "--only", "needs.yaml", "-o", "out")
    name = out.partition(":")[0]
    assert re.fullmatch("fred_m3_p4_int8x1_only_[0-9a-f]{8}", name)
    assert out.splitlines()[1:3] == [
        "2 R; 2 D; 2 RD",
        "pruned: keeps 6 of 7 micro-switches, 4 of 5 reduction units, 18 of 48 connections",
    ]
    manifest = json.loads((place / f"out/{name}.json").read_text())
    assert manifest["spec"]["only"].keys() == {
        "MP2-DP2-PP1:mp_all_reduce",
        "MP2-DP2-PP1:dp_all_reduce",
    }
    assert manifest["pruned"]["kept"] == {
        "microswitches": 6,
        "reduction_units": 4,
        "connections": 18,
    }
    assert manifest["microswitches"] == {"R": 2, "D": 2, "RD": 2, "mux": 0, "demux": 0}
    (place / "pruned.yaml").write_text(json.dumps(manifest["spec"]))
    again = fred.json("gen", "pruned.yaml", "-o", "again")
    assert again["name"] == name and again["pruned"] == manifest["pruned"]
    assert Path(f"again/{name}.v").read_text() == Path(f"out/{name}.v").read_text()


def test_gen_refuses_to_prune_other_levels_and_twice(
    refused: Callable[..., str], place: Path
) -> None:
    (place / "needs.yaml").write_text(NEEDS)
    (place / "pruned.yaml").write_text("{ports: 4, format: int8, lanes: 1, only: {one: '0x5'}}")
    only = ("--only", "needs.yaml", "-o", "out")
    said = refused("gen", "small.yaml", "--level", "switch", *only)
    assert said == "error: --only: must be given with --level interconnect, not switch"
    said = refused("gen", "pruned.yaml", *only)
    assert said == "error: pruned.yaml: only: must be left out with --only"
    said = refused("gen", "pruned.yaml", "--level", "switch", "-o", "out")
    assert said == "error: pruned.yaml: only: must be left out at the level of the whole switch"
    said = refused("gen", "small.yaml", "--only", "small.yaml", "-o", "out")
    assert said == ("error: small.yaml: must be strategies to support, not a switch specification")
