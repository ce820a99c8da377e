"""Tests of `fred sim`."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fred_cli import progress
from fred_hw.spec import SwitchSpec
from gen.design import Design
from testbench.faults.datapath import broken_design, operand_dropped
from tests.fred_cli.fred import Fred
from tests.fred_cli.walk import commands


@pytest.mark.sim
@pytest.mark.slow
def test_sim_counts_what_the_manifest_states(fred: Fred, place: Path) -> None:
    status, out, err = fred("sim", "small-4", "--sim", "icarus", "--seed", "5", "--json")
    assert status == 0, err
    said = json.loads(out)
    manifest = fred.json("gen", "small-4", "-o", "rtl")
    assert said["latency_cycles"] == manifest["latency_cycles"] == 7
    assert said["throughput_flits_per_cycle"] == 1.0
    assert (said["simulator"], said["seed"], said["failures"]) == ("icarus", 5, 0)
    assert said["name"] == manifest["name"]
    (run,) = said["runs"]
    assert said["tests"] == len(run["tests"]) > 10
    results = place / "build" / "sim-results" / said["name"] / "icarus" / "results.xml"
    assert Path(run["results_xml"]) == results
    assert len(list(ET.parse(results).getroot().iter("testcase"))) == said["tests"]


@pytest.mark.slow
@pytest.mark.sim
def test_sim_shows_progress_and_a_table_and_runs_only_the_tests_named(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_QUIET_S", 0.0)
    test = "every_path_has_the_same_latency"
    arguments = ("--sim", "icarus", "--seed", "7", "--test", test, "-o", "here")
    status, out, err = fred("sim", "small.yaml", *arguments)
    assert status == 0, err
    what = "fred_m3_p4_int8x1 in icarus, seed 7"
    assert re.fullmatch(rf"{what} \.\.\.\n({what}: .* left\n)*{what}: \d+ s\n", err), err
    assert re.search(r"^icarus \S+, seed 7\s*$", out, re.MULTILINE)
    assert re.findall(r"^\s*(\w+)\s+passed", out, re.MULTILINE) == [test]
    assert re.search(r"^  latency_cycles +3 +cycles +From a flit on the inputs", out, re.MULTILINE)
    assert out.endswith("\nall tests passed\n")
    assert Path("here/icarus/results.xml").exists()


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the co-simulation get hardware whose reducers drop an operand."""

    def generate(spec: SwitchSpec, *_: object, **_more: object) -> Design:
        return broken_design(spec, operand_dropped)

    monkeypatch.setattr("testbench.cosimulation.cosimulate_interconnect.generate", generate)


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.usefixtures("broken")
def test_sim_of_broken_hardware_ends_in_1(fred: Fred) -> None:
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


def test_simulations_have_the_same_defaults_in_all_commands() -> None:
    found = {
        words: {
            one.name: one.default
            for one in context.command.params
            if one.name in ("simulator", "seed")
        }
        for words, context in commands()
        if words in ("characterize", "sim")
    }
    assert found["sim"] == found["characterize"] == {"simulator": "verilator", "seed": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--netlist", "generc"), "--netlist: must be one of generic, mapped, "),
        (("--netlist", "mapped"), "--liberty: must be given with --netlist mapped"),
        (("--netlist", "generic", "--liberty", "nangate45"), "--liberty: must be left out with"),
        (("--liberty", "nangate45"), "--liberty: must be given with --netlist"),
        (("--netlist", "mapped", "--liberty", "nothere.lib"), "nothere.lib: must be an existing"),
    ],
)
def test_netlists_that_cannot_be_are_refused(
    fred: Fred, options: tuple[str, ...], message: str
) -> None:
    status, out, err = fred("sim", "small.yaml", "--sim", "icarus", *options)
    assert (status, out) == (2, "")
    assert err.startswith("error: ") and message in err and err.count("\n") == 1
