"""Tests of fred_cli.hardware and fred_cli.simulation: presets, gen, route, sim, characterize."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fred_cli import output
from fred_hw.compiler.configuration import Configuration, microswitch_counts
from fred_hw.load import PRESETS
from fred_hw.spec import SwitchSpec
from gen.design import Design
from testbench.faults.interconnect import broken_design

Run = Callable[..., tuple[int, str, str]]
KEYS = (
    "ports, middle, format, operation, overflow, lanes, stage_registers, adder_registers, protocol"
)

UNDECIDED = """
- {inputs: [2, 5], outputs: [10, 11]}
- {inputs: [0, 8], outputs: [4, 5]}
- {inputs: [3, 4], outputs: [9]}
- {inputs: [1], outputs: [2, 3]}
- {inputs: [9], outputs: [1, 8]}
"""
"""Clash on FRED_2(12), which only the exact search can tell."""

REFUSED = {
    # files
    "gen unknown-key.yaml -o out": rf"unknown-key\.yaml: bogus: unknown key; allowed are {KEYS}",
    "gen one-port.yaml -o out": r"one-port\.yaml: ports: must be an integer from 2 to 64, not 1",
    "gen missing.yaml -o out": r"missing\.yaml: must be an existing file, not a missing one",
    "gen missing -o out": rf"missing: must be .* one of the presets {', '.join(PRESETS)}",
    "gen empty.yaml -o out": r"empty\.yaml: must hold a specification, not nothing .*",
    "gen not-yaml.yaml -o out": r"not-yaml\.yaml: must be YAML, not text with an error at line 2.*",
    "gen a-list.yaml -o out": r"a-list\.yaml: must be a mapping of keys to values, not \[1, 2\]",
    "gen folder.yaml -o out": r"folder\.yaml: must be a file, not a directory",
    "gen binary.yaml -o out": r"binary\.yaml: must be a text file in UTF-8, not binary data",
    # fields
    "gen demo-8 --set middle=1 -o out": r"demo-8: middle: must be an integer from 2 to 8, not 1",
    "gen demo-8 --set lanes=0 -o out": r"demo-8: lanes: must be an integer from 1 to 256, not 0",
    "gen demo-8 --set ports=true -o out": r"demo-8: ports: must be an integer .*, not True",
    "gen demo-8 --set format=fp8 -o out": r"demo-8: format: must be one of fp16, .*, not 'fp8'",
    "gen demo-8 --set lane=2 -o out": rf"demo-8: lane: unknown key; allowed are {KEYS}",
    "gen demo-8 --set lanes -o out": r"--set: must be key=value, not 'lanes'",
    "gen demo-8 --set =2 -o out": r"--set: must be key=value, not '=2'",
    "gen demo-8 --set lanes=[ -o out": r"--set: lanes: must be a YAML value, not '\['",
    # the whole switch
    "gen demo-8 --level wafer -o out": r"fred gen: Invalid value for '--level': 'wafer' .*",
    "gen demo-8 --set protocol=3 -o out": r"demo-8: protocol: must be a mapping .*, not 3",
    "gen demo-8 --set protocol.link=1 -o out": r"demo-8: protocol\.link: must be true or .*, not 1",
    "gen demo-8 --set protocol.phase=1 -o out": r"demo-8: protocol\.phase: unknown key; .*",
    "gen demo-8 --set protocol.buffer_packets=3 -o out": r"demo-8: protocol\.buffer_packets: must "
    r"be 6 or more to cover round_trip_cycles, which are 47, not 3",
    "gen demo-8 --set protocol.window_packets=16 -o out": r"demo-8: protocol\.window_packets: must "
    r"be 29 or more to send on until the ack of 16, not 16",
    "gen wide.yaml -o out": r"wide\.yaml: protocol: must have a header of 48 bits .*, not 57: .*",
    # outputs
    "gen tiny-2": r"fred gen: Missing option '-o' / '--output'\.",
    "gen": r"fred gen: Missing argument 'SPEC'\.",
    "gen tiny-2 -o a-file": r"a-file: must be a folder, not a file",
    "gen tiny-2 -o a-file/out": r"a-file/out: must be a folder, not a file",
    # flows
    "route small.yaml overlap.yaml": r"overlap\.yaml: 1\.inputs: must be disjoint from .* port 1",
    "route small.yaml out-of-range.yaml": r"out-of-range\.yaml: 0\.outputs: .* 0 to 3, not 4",
    "route small.yaml missing.yaml": r"missing\.yaml: must be an existing file, not a missing one",
    "route small.yaml": r"route: FLOWS: must be a file, or --strategy given, but not both",
    "route small.yaml circular.yaml --strategy MP1-DP2-PP1": r"route: FLOWS: .* but not both",
    "route small.yaml --strategy MP2": r"--strategy: .* of the form MP2-DP5-PP2, not 'MP2'",
    "route small.yaml --strategy MP0-DP1-PP1": r"--strategy: .* mp must be 1 or more, not 0",
    "route small.yaml --strategy MP2-DP3-PP1": r"--strategy: .* MP2-DP3-PP1 must have .*, not 6",
    "route small.yaml one-flow.yaml --effort -1": r"--effort: effort must be 0 or more, not -1",
    "route small.yaml one-flow.yaml --draw folder.yaml": r"folder\.yaml: must be a file, not .*",
    "route small.yaml one-flow.yaml --draw a-file/x.svg": r"a-file: must be a folder, not a file",
    "route small.yaml --strategy MP2-DP2-PP1 --draw x.svg": r"route: --draw: must be given with .*",
    # simulation
    "sim small.yaml --sim ghdl": r"fred sim: Invalid value for '--sim': 'ghdl' .* 'both'\.",
    "sim small.yaml --sim icarus --seed 0": r"--seed: seed must be 1 or more, not 0",
    "sim small.yaml --sim icarus --seed x": r"fred sim: Invalid value for '--seed': 'x' .*",
    "sim small.yaml --sim icarus --test nope": r"--test: must be one of .*_deliver, .*, not 'nope'",
    "sim small.yaml --sim icarus --test a(": r"--test: must be one of .*, not 'a\('",
    "sim small.yaml --sim icarus --test started": r"--test: must be one of .*, not 'started'",
    "sim small.yaml --sim icarus -o a-file": r"a-file: must be a folder, not a file",
    "sim small.yaml --sim icarus -o a-file/x": r"a-file/x: must be a folder, not a file",
    "characterize small.yaml -o folder.yaml": r"folder\.yaml: must be a file, not a directory",
    "characterize small.yaml -o a-file/x.json": r"a-file: must be a folder, not a file",
    "characterize small.yaml --lanes 0": r"--lanes: lanes: must be an integer from 1 to 256, not 0",
    "characterize small.yaml --seed 0": r"--seed: seed must be 1 or more, not 0",
}


@pytest.mark.parametrize(("line", "message"), REFUSED.items(), ids=REFUSED)
def test_bad_input_is_one_line(refused: Callable[..., str], line: str, message: str) -> None:
    said = refused(*line.split())
    assert re.fullmatch(f"error: {message}", said), said


@pytest.mark.parametrize(("name", "package"), [("icarus", "iverilog"), ("verilator", "verilator")])
@pytest.mark.parametrize("command", ["sim", "characterize"])
def test_simulator_that_is_missing_is_named(
    refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
    package: str,
) -> None:
    monkeypatch.setattr(f"testbench.sim.runner.{name}_bin", lambda: None)
    said = refused(command, "small.yaml", "--sim", name)
    assert re.fullmatch(rf"error: --sim: {name} is not installed; .*package {package} has it", said)


def test_presets_all_have_a_purpose(fred: Run) -> None:
    status, out, err = fred("presets", "--json")
    assert (status, err) == (0, "")
    rows = json.loads(out)["presets"]
    assert tuple(row["preset"] for row in rows) == PRESETS
    assert all(set(row) == {"preset", "name", "for"} and all(row.values()) for row in rows)
    status, out, err = fred("presets")
    assert (status, err) == (0, "")
    assert all(name in out for name in PRESETS)


def test_gen_writes_the_files_that_it_lists(fred: Run, place: Path) -> None:
    status, out, err = fred("gen", "small.yaml", "-o", "out/rtl", "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    files = [Path(name) for name in said["files"]]
    assert sorted(files) == sorted(Path("out/rtl").iterdir())
    assert {file.suffix for file in files} >= {".v", ".json", ".core"}
    (verilog,) = [file for file in files if file.suffix == ".v"]
    (manifest,) = [json.loads(file.read_text()) for file in files if file.suffix == ".json"]
    assert said["name"] == "fred_m3_p4_int8x1"
    assert said["verilog_bytes"] == verilog.stat().st_size
    assert said["latency_cycles"] == manifest["latency_cycles"] == 7
    assert said["microswitches"] == microswitch_counts(4, 3)
    assert said["modules"] and len(set(said["modules"])) == len(said["modules"])


def test_gen_says_the_same_to_a_reader(fred: Run) -> None:
    status, out, err = fred("gen", "small.yaml", "-o", "out")
    assert (status, err) == (0, "")
    first, second, *files = out.splitlines()
    assert re.fullmatch(r"fred_m3_p4_int8x1: \d+ modules, [\d,]+ bytes, latency 7 cycles", first)
    assert second == "2 R; 2 D; 3 RD"
    assert sorted(map(str.strip, files)) == sorted(map(str, Path("out").iterdir()))


def test_gen_twice_gives_identical_bytes(fred: Run) -> None:
    for folder in ("one", "two"):
        assert fred("gen", "odd-5", "-o", folder)[0] == 0
    one = {path.name: path.read_bytes() for path in Path("one").iterdir()}
    assert len(one) >= 4
    assert one == {path.name: path.read_bytes() for path in Path("two").iterdir()}


def test_set_changes_the_specification(fred: Run) -> None:
    changes = ("--set", "ports=2", "--set", "format=bf16")
    said = json.loads(fred("gen", "small.yaml", *changes, "-o", "out", "--json")[1])
    assert said["name"] == "fred_m3_p2_bf16x1"


def test_conflict_ends_in_3_and_names_the_flows(fred: Run, place: Path) -> None:
    with (place / "circular.yaml").open("a") as file:
        file.write("- {inputs: [7], outputs: [7]}\n")
    arguments = ("route", "demo-8", "circular.yaml", "--set", "middle=2")
    status, out, err = fred(*arguments, "--json")
    assert (status, err) == (3, "")
    said = json.loads(out)
    assert not said["routed"] and said["status"] == "conflict" and said["configuration"] is None
    assert said["conflict_is_smallest"]
    assert said["conflict"] == [
        {"index": 0, "inputs": [0], "outputs": [0]},
        {"index": 1, "inputs": [1, 2], "outputs": [2]},
        {"index": 2, "inputs": [3], "outputs": [1, 3]},
    ]
    status, out, err = fred(*arguments)
    assert (status, err) == (3, "")
    assert out == (
        "flows: conflict; smallest set that clashes: "
        "0: [0] -> [0]; 1: [1, 2] -> [2]; 2: [3] -> [1, 3]\n"
    )


def test_third_subswitch_routes_what_two_cannot(fred: Run) -> None:
    status, out, err = fred("route", "demo-8", "circular.yaml", "--set", "middle=3", "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    assert said["routed"] and said["conflict"] == [] and said["conflict_is_smallest"] is None
    configuration = said["configuration"]
    word = int(configuration.pop("word"), 16)
    assert Configuration.unpack(word, 8, 3) == Configuration.from_dict(configuration)
    entries = {name: int(entry, 16) for name, entry in said["entries"].items()}
    assert entries["pp"] - entries["mp"] == entries["dp"] - entries["pp"] == 1 << 180
    assert all(entry & ((1 << 116) - 1) == word for entry in entries.values())
    status, out, err = fred("route", "demo-8", "circular.yaml")
    assert (status, err) == (0, "")
    assert out == f"flows: routed, 3 flows, word {word:#x}\n"


def test_effort_that_ends_too_early_ends_in_4(fred: Run, place: Path) -> None:
    (place / "undecided.yaml").write_text(UNDECIDED)
    arguments = ("route", "l1-12", "undecided.yaml", "--set", "middle=2")
    status, out, err = fred(*arguments, "--effort", "0")
    assert (status, err) == (4, "")
    assert out == "flows: unknown: the effort ended before a routing or a conflict was found\n"
    said = json.loads(fred(*arguments, "--effort", "0", "--json")[1])
    assert not said["routed"] and said["status"] == "unknown" and said["conflict"] == []
    assert fred(*arguments)[0] == 3


def test_strategy_routes_all_its_phases(fred: Run) -> None:
    status, out, err = fred("route", "demo-8", "--strategy", "MP2-DP2-PP2", "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    names = ["mp_all_reduce", "dp_all_reduce", "pp_forward", "pp_backward"]
    assert said["routed"] and list(said["phases"]) == names
    assert all(phase["routed"] for phase in said["phases"].values())
    status, out, err = fred("route", "demo-8", "--strategy", "MP2-DP2-PP2")
    assert [line.partition(":")[0] for line in out.splitlines()] == names


def test_strategy_of_one_worker_has_nothing_to_route(fred: Run) -> None:
    status, out, err = fred("route", "demo-8", "--strategy", "MP1-DP1-PP1", "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    assert said["routed"] and said["conflict"] == [] and said["phases"] == {}
    status, out, err = fred("route", "demo-8", "--strategy", "MP1-DP1-PP1")
    assert (status, out) == (0, "nothing to route: the strategy has one worker\n")


def test_route_draws_what_it_routed_and_no_conflict(fred: Run) -> None:
    assert fred("route", "demo-8", "circular.yaml", "--draw", "pictures/routed.svg")[0] == 0
    assert ET.parse("pictures/routed.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    arguments = ("--set", "middle=2", "--draw", "conflict.svg")
    assert fred("route", "demo-8", "circular.yaml", *arguments)[0] == 3
    assert not Path("conflict.svg").exists()


@pytest.mark.sim
@pytest.mark.slow
def test_sim_counts_what_the_manifest_states(fred: Run, place: Path) -> None:
    status, out, err = fred("sim", "small-4", "--sim", "icarus", "--seed", "5", "--json")
    assert status == 0, err
    said = json.loads(out)
    manifest = json.loads(fred("gen", "small-4", "-o", "rtl", "--json")[1])
    assert said["latency_cycles"] == manifest["latency_cycles"] == 7
    assert said["throughput_flits_per_cycle"] == 1.0
    assert (said["simulator"], said["seed"], said["failures"]) == ("icarus", 5, 0)
    assert said["name"] == manifest["name"]
    (run,) = said["runs"]
    assert said["tests"] == len(run["tests"]) > 10
    results = place / "build" / "sim-results" / said["name"] / "icarus" / "results.xml"
    assert Path(run["results_xml"]) == results
    assert len(list(ET.parse(results).getroot().iter("testcase"))) == said["tests"]


@pytest.mark.sim
def test_sim_shows_a_table_and_runs_only_the_tests_named(fred: Run) -> None:
    test = "every_path_has_the_same_latency"
    arguments = ("--sim", "icarus", "--seed", "7", "--test", test, "-o", "here")
    status, out, err = fred("sim", "small.yaml", *arguments)
    assert status == 0, err
    assert re.search(r"^icarus \S+, seed 7\s*$", out, re.MULTILINE)
    assert re.findall(r"^\s*(\w+)\s+passed", out, re.MULTILINE) == [test]
    assert "  latency_cycles: 7\n" in out
    assert out.endswith("\nall tests passed\n")
    assert Path("here/icarus/results.xml").exists()


@pytest.mark.sim
def test_progress_is_shown_on_standard_error_alone(
    fred: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_QUIET_S", 0.0)
    test = ("--test", "every_path_has_the_same_latency")
    status, out, err = fred("sim", "tiny-2", "--sim", "icarus", "--seed", "3", *test, "--json")
    assert status == 0
    assert isinstance(json.loads(out), dict)
    lines = err.splitlines()
    assert lines[0] == "fred_m3_p2_int8x1_a1 in icarus, seed 3 ..."
    assert re.fullmatch(r"fred_m3_p2_int8x1_a1 in icarus, seed 3: \d+ s", lines[1])
    assert len(lines) == 2


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the co-simulation get hardware whose reducers drop an operand."""

    def generate(spec: SwitchSpec) -> Design:
        return broken_design(spec, "adder_operand_dropped")

    monkeypatch.setattr("testbench.cosimulation.interconnect.generate", generate)


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.usefixtures("broken")
def test_sim_of_broken_hardware_ends_in_1(fred: Run) -> None:
    test = ("--test", "random_flow_sets_deliver")
    arguments = ("sim", "small.yaml", "--sim", "icarus", "--seed", "5", *test)
    status, out, err = fred(*arguments, "--json")
    assert status == 1, err
    said = json.loads(out)
    assert said["failures"] == 1 and said["tests"] == 1
    assert not said["runs"][0]["tests"][0]["passed"]
    assert said["runs"][0]["tests"][0]["message"]
    status, out, err = fred(*arguments)
    assert status == 1
    assert "FAILED: " in out and out.endswith("\n1 failures\n")


def same_record(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Compare records; another process may commit or edit sources in between."""
    return {**one, "source": None} == {**other, "source": None}


@pytest.mark.sim
@pytest.mark.slow
def test_characterize_prints_the_record_that_it_writes(fred: Run) -> None:
    status, out, err = fred("characterize", "small.yaml", "-o", "new/record.json", "--json")
    assert status == 0, err
    record = json.loads(out)
    assert json.loads(Path("new/record.json").read_text()) == record
    assert record["schema"] == "fred-timing/2" and record["name"] == "fred_m3_p4_int8x1"
    assert record["latency_cycles"] == 7 and record["throughput_flits_per_cycle"] == 1.0
    assert record["clock"]["hz"] > 0 and record["clock"]["source"]
    status, out, err = fred("characterize", "small.yaml", "-o", "again.json")
    assert status == 0, err
    assert out.startswith("fred_m3_p4_int8x1: latency 7 cycles, 1.0 flits per cycle and port, ")
    assert same_record(json.loads(Path("again.json").read_text()), record)


@pytest.mark.sim
def test_broken_hardware_gets_no_record(fred: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def generate(spec: SwitchSpec, level: str = "interconnect") -> Design:
        return broken_design(spec, "adder_operand_dropped")

    monkeypatch.setattr("testbench.characterize.generate", generate)
    status, out, err = fred("characterize", "small.yaml", "-o", "record.json")
    assert (status, out) == (2, "")
    assert re.search(r"^error: --sim: icarus: no record, as these tests failed: \w+", err, re.M)
    assert not Path("record.json").exists()
