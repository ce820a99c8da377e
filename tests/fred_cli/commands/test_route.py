"""Tests of `fred route`."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from fred_hw.compiler.configuration import Configuration
from fred_hw.control.phase_entry import entry_bits
from fred_hw.load import load_spec
from fred_hw.protocol import GENERATION_BITS, GENERATIONS
from tests.fred_cli.fred import Fred

UNDECIDED = """
- {inputs: [2, 5], outputs: [10, 11]}
- {inputs: [0, 8], outputs: [4, 5]}
- {inputs: [3, 4], outputs: [9]}
- {inputs: [1], outputs: [2, 3]}
- {inputs: [9], outputs: [1, 8]}
"""
"""Clash on FRED_2(12), which only the exact search can tell."""


def test_conflict_ends_in_3_and_names_the_flows(fred: Fred, place: Path) -> None:
    with (place / "circular.yaml").open("a") as file:
        file.write("- {inputs: [7], outputs: [7]}\n")
    arguments = ("route", "demo-8", "circular.yaml", "--set", "middle_switches=2")
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


def test_third_subswitch_routes_what_two_cannot(fred: Fred) -> None:
    said = fred.json("route", "demo-8", "circular.yaml", "--set", "middle_switches=3")
    assert said["routed"] and said["conflict"] == [] and said["conflict_is_smallest"] is None
    configuration = said["configuration"]
    word = int(configuration.pop("word"), 16)
    assert Configuration.unpack(word, 8, 3) == Configuration.from_dict(configuration)
    entries = {name: int(entry, 16) for name, entry in said["entries"].items()}
    assert entries["pp"] - entries["mp"] == entries["dp"] - entries["pp"] == 1 << 180
    assert all(entry & ((1 << 116) - 1) == word for entry in entries.values())
    out = fred.out("route", "demo-8", "circular.yaml")
    assert out == f"flows: routed, 3 flows, word {word:#x}\n"


def test_effort_that_ends_too_early_ends_in_4(fred: Fred, place: Path) -> None:
    (place / "undecided.yaml").write_text(UNDECIDED)
    arguments = ("route", "l1-12", "undecided.yaml", "--set", "middle_switches=2")
    status, out, err = fred(*arguments, "--max-conflicts", "0")
    assert (status, err) == (4, "")
    reason = "the search reached --max-conflicts before it found a routing or a conflict"
    assert out == f"flows: unknown: {reason}\n"
    said = json.loads(fred(*arguments, "--max-conflicts", "0", "--json")[1])
    assert not said["routed"] and said["status"] == "unknown" and said["conflict"] == []
    assert fred(*arguments)[0] == 3


def test_former_name_of_max_conflicts_is_taken_with_a_warning(fred: Fred, place: Path) -> None:
    (place / "undecided.yaml").write_text(UNDECIDED)
    arguments = ("route", "l1-12", "undecided.yaml", "--set", "middle_switches=2", "--json")
    status, out, err = fred(*arguments, "--effort", "0")
    assert (status, out, "") == fred(*arguments, "--max-conflicts", "0")
    assert err == "warning: --effort: is deprecated; use --max-conflicts\n"


def test_a_bad_value_of_a_former_name_is_one_line(refused: Callable[..., str]) -> None:
    said = "error: --effort: must be an integer, not 'speed'"
    assert refused("route", "small-4", "--effort", "speed") == said


@pytest.mark.parametrize(
    ("former", "name"),
    [("bidirectional", "bidirectional_ring"), ("hierarchical", "hierarchical_2d_halves")],
)
def test_former_names_of_algorithms_are_taken_with_a_warning(
    fred: Fred, former: str, name: str
) -> None:
    mesh = str(EXAMPLES / "mesh-5x4.yaml")
    arguments = ("route", mesh, "--strategy", "MP20-DP1-PP1", "--size", "1KiB")
    status, out, err = fred(*arguments, "--json", "--algorithm", former)
    assert (status, out, "") == fred(*arguments, "--json", "--algorithm", name)
    assert status == 0 and json.loads(out)["algorithm"] == name
    assert err == f"warning: --algorithm {former}: is deprecated; use {name}\n"


def test_strategy_routes_all_its_phases(fred: Fred) -> None:
    status, out, err = fred("route", "demo-8", "--strategy", "MP2-DP2-PP2", "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    names = ["mp_all_reduce", "dp_all_reduce", "pp_forward", "pp_backward"]
    assert said["routed"] and list(said["phases"]) == names
    assert all(phase["routed"] for phase in said["phases"].values())
    assert fred("route", "demo-8", "--strategy", "TP2-DP2-PP2", "--json") == (status, out, err)
    status, out, err = fred("route", "demo-8", "--strategy", "MP2-DP2-PP2")
    assert [line.partition(":")[0] for line in out.splitlines()] == names


@pytest.mark.parametrize("generation", [0, 1, 7, 8, 65535])
def test_entries_have_the_generation_that_is_given(fred: Fred, generation: int) -> None:
    arguments = ("route", "demo-8", "circular.yaml", "--set", "middle_switches=3", "--json")
    first, later = (
        fred.json(*arguments, *more)["entries"] for more in ((), ("--generation", f"{generation}"))
    )
    low = entry_bits(load_spec("demo-8")) - GENERATION_BITS
    for name, entry in first.items():
        assert int(later[name], 16) == int(entry, 16) | generation % GENERATIONS << low
        assert int(entry, 16) >> low == 0


@pytest.mark.parametrize("middle_switches", [2, 3])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--generation", "65536", "--json"], "--generation: must be 0 to 65535, not 65536"),
        (["--generation", "-1", "--json"], "--generation: must be 0 to 65535, not -1"),
        (["--generation", "1"], "route: --generation: must be given with --json"),
    ],
)
def test_wrong_generation_is_refused_routed_or_not(
    fred: Fred, middle_switches: int, arguments: list[str], said: str
) -> None:
    flows = ("route", "demo-8", "circular.yaml", "--set", f"middle_switches={middle_switches}")
    status, out, err = fred(*flows, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {said}")


def test_strategy_of_one_worker_has_nothing_to_route(fred: Fred) -> None:
    said = fred.json("route", "demo-8", "--strategy", "MP1-DP1-PP1")
    assert said["routed"] and said["conflict"] == [] and said["phases"] == {}
    status, out, _ = fred("route", "demo-8", "--strategy", "MP1-DP1-PP1")
    assert (status, out) == (0, "nothing to route: the strategy has one worker\n")


def test_route_draws_what_it_routed_and_no_conflict(fred: Fred) -> None:
    assert fred("route", "demo-8", "circular.yaml", "--draw", "pictures/routed.svg")[0] == 0
    assert ET.parse("pictures/routed.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    arguments = ("--set", "middle_switches=2", "--draw", "conflict.svg")
    assert fred("route", "demo-8", "circular.yaml", *arguments)[0] == 3
    assert not Path("conflict.svg").exists()


def test_a_strategy_is_for_switches_or_for_endpoints(fred: Fred) -> None:
    wafer = ("route", "wafer.yaml", "--strategy", "MP2-DP2-PP1")
    out = fred.out(*wafer, "--collectives", "ring", "--json")
    assert json.loads(out)["collectives"] == "ring"
    assert fred.json(*wafer)["collectives"] == "in-network"
    out = fred("route", "wafer.yaml", "--strategy", "MP4-DP1-PP1", "--collectives", "ring")[1]
    assert "by endpoints" in out and re.search(r"mp_all_reduce\W+0\W+mp\W+1\W+3\b", out)


def test_strategy_on_a_mesh_says_what_endpoints_do(fred: Fred) -> None:
    arguments = ("route", "mesh.yaml", "--strategy", "MP3-DP2-PP1", "--size", "12B")
    said = fred.json(*arguments)
    assert said["algorithm"] == "auto" and list(said["endpoints"]) == [f"npu{k}" for k in range(6)]
    algorithms = [one["groups"][0]["algorithm"] for one in said["phases"]]
    assert algorithms == ["bidirectional_ring", "ring"]
    assert fred(*arguments, "--algorithm", "ring", "-o", "made.json")[0] == 0
    made = json.loads(Path("made.json").read_text())
    assert [one["groups"][0]["algorithm"] for one in made["phases"]] == ["ring", "ring"]
    _, out, _ = fred(*arguments)
    assert "dp_all_reduce" in out and "flits of the busiest link" in out


@pytest.fixture
def pruned(place: Path) -> tuple[str, ...]:
    """Return the arguments that prune a switch of eight ports to a strategy."""
    (place / "needs.yaml").write_text("strategies: [MP2-DP2-PP2]")
    return ("route", "demo-8", "--only", "needs.yaml")


def test_a_pruned_switch_has_the_words_of_its_strategies(
    fred: Fred, pruned: tuple[str, ...], place: Path
) -> None:
    every = fred.json(*pruned, "--certify", "c.json")["phases"]
    own = fred.json(*pruned, "--strategy", "MP2-DP2-PP2")["phases"]
    assert len(own) == 4
    assert {f"MP2-DP2-PP2:{name}": one for name, one in own.items()} == every
    assert fred.out("verify", "c.json").endswith("valid certificate\n")


def test_what_was_pruned_is_refused_and_named(
    refused: Callable[..., str], pruned: tuple[str, ...], place: Path
) -> None:
    assert refused(*pruned, "--strategy", "MP4-DP2-PP1") == (
        "error: needs.yaml: strategies: must have a configuration for mp_all_reduce "
        "([0, 1, 2, 3] -> [0, 1, 2, 3], [4, 5, 6, 7] -> [4, 5, 6, 7]), not only 4 others"
    )
    assert refused(*pruned, "circular.yaml").startswith(
        "error: needs.yaml: strategies: must have a configuration for flows ("
    )
    assert refused(*pruned, "--max-conflicts", "9") == (
        "error: route: --max-conflicts: must be given with a full switch, not a pruned one"
    )
    assert refused("route", "mesh.yaml", "--only", "needs.yaml", "--strategy", "MP2-DP1-PP1") == (
        "error: route: --only: must be given with a switch, not a mesh"
    )
