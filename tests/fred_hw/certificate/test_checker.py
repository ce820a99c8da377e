"""Tests of fred_hw.certificate.checker."""

import ast
import random
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fred_hw.certificate import checker
from fred_hw.certificate.checker import check
from fred_hw.compiler.flows import Flow
from fred_hw.load import PRESETS, load_spec

from .certificates import HARD, of_hard, of_switch, of_wafer

PUBLISHED = ("MP1-DP20-PP1", "MP3-DP3-PP2", "MP2-DP5-PP2", "MP20-DP1-PP1")
"""Strategies of the paper: ResNet-152 and Transformer-1T, Transformer-17B, GPT-3, wafer-wide."""


def wrong(data: dict[str, Any]) -> dict[str, str]:
    """Return what is wrong in a certificate, by part."""
    return {one.name: one.detail for one in check(data) if one.verdict == "wrong"}


@pytest.mark.parametrize("strategy", PUBLISHED)
def test_published_strategies_on_the_wafer_are_certified(strategy: str) -> None:
    data = of_wafer(strategy)
    found = {one.name: one.verdict for one in check(data)}
    assert found == {"fabric": "sound", "phases": "complete"} | dict.fromkeys(
        data["phases"], "routed"
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_certified(preset: str) -> None:
    data = of_switch(f"MP2-DP{load_spec(preset).ports // 2}-PP1", preset)
    assert "mp_all_reduce" in data["sets"]
    assert wrong(data) == {}


def test_phases_in_rounds_are_certified() -> None:
    data = of_wafer("MP10-DP1-PP2", "wafer-20-narrow")
    assert {"mp_all_reduce:round_1", "mp_all_reduce:token_0"} <= data["sets"].keys()
    assert data["sets"]["mp_all_reduce:token_0"]["phase"] is None
    assert wrong(data) == {}
    data["sets"]["mp_all_reduce:round_1"]["phase"] = None
    assert wrong(data) == {"phases": "mp_all_reduce lacks a flow, or repeats one"}


def test_phases_of_controllers_are_certified_too() -> None:
    data = of_wafer("MP2-DP5-PP2", "wafer-20-controllers")
    assert {"load_0", "store_0", "input_0"} <= data["sets"].keys()
    assert wrong(data) == {}


def flipped(data: dict[str, Any], some: random.Random | None) -> Iterator[tuple[str, Any]]:
    """Yield certificates with one bit of a word flipped, all or some, and the sets at fault."""
    for name, one in data["sets"].items():
        for unit, word in one["words"].items():
            places = range(int(word, 16).bit_length() + 3)
            for bit in [some.choice(places)] if some else places:
                copy = deepcopy(data)
                copy["sets"][name]["words"][unit] = f"{int(word, 16) ^ 1 << bit:#x}"
                yield name, copy


@pytest.mark.parametrize("preset", ["small-4", "odd-5", "demo-8"])
def test_every_flipped_bit_on_a_switch_is_found(preset: str) -> None:
    mutants = list(flipped(of_switch("MP2-DP2-PP1", preset), None))
    assert len(mutants) > 30
    assert all(wrong(data).keys() == {name} for name, data in mutants)


@pytest.mark.parametrize("strategy", PUBLISHED)
def test_flipped_bits_on_a_wafer_are_found(strategy: str) -> None:
    mutants = list(flipped(of_wafer(strategy), random.Random(1)))
    assert len(mutants) > 5
    assert all(wrong(data).keys() == {name} for name, data in mutants)


@pytest.mark.parametrize("name", ["mp_all_reduce", "pp_forward"])
def test_a_dropped_flow_is_found(name: str) -> None:
    data = of_wafer("MP2-DP5-PP2")
    last = data["sets"][name]["flows"].pop()
    lost = wrong(data)
    assert lost["phases"] == f"{name} lacks a flow, or repeats one"
    assert re.fullmatch(r"endpoint \d+ gets the sum of \(.*\), not of \(\)", lost[name])
    data["phases"][name].remove(last)
    assert wrong(data)["phases"] == f"{name} differs from the strategy"


def test_a_dropped_set_is_found() -> None:
    data = of_switch("MP2-DP2-PP2")
    del data["sets"]["pp_backward"], data["phases"]["pp_backward"]
    assert wrong(data) == {"phases": "pp_backward differs from the strategy"}


def test_words_of_another_phase_are_found() -> None:
    data = of_wafer("MP2-DP5-PP2")
    words = data["sets"]["pp_forward"]["words"]
    words |= data["sets"]["pp_backward"]["words"]
    assert "pp_forward" in wrong(data)


def change(data: dict[str, Any], how: str) -> None:
    """Change a certificate of MP2-DP5-PP2 on wafer-20."""
    words = data["sets"]["dp_all_reduce"]["words"]
    flows = data["sets"]["dp_all_reduce"]["flows"]
    if how == "unit":
        del words["l1_0"]
    elif how == "link":
        del data["links"][0]
    elif how == "ends":
        data["endpoints"][:2] = data["endpoints"][1::-1]
    elif how == "twice":
        flows[1]["outputs"] = flows[0]["outputs"]
    elif how == "mixed":
        flows[0]["inputs"], flows[1]["inputs"] = flows[1]["inputs"], flows[0]["inputs"]
    elif how == "unknown":
        words["l1_9"] = words["l1_0"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("unit", "endpoint 0 gets the sum of (), not of (0, 4, 8, 12, 16)"),
        ("link", "l1_0 input 8 gets no data"),
        ("ends", "gets the sum of (0, 5, 9, 13, 17), not of (0, 4, 8, 12, 16)"),
        ("twice", "an endpoint is in two flows"),
        ("mixed", "endpoint 0 gets the sum of"),
        ("unknown", "there is no unit l1_9"),
    ],
)
def test_what_does_not_fit_is_found(how: str, said: str) -> None:
    data = of_wafer("MP2-DP5-PP2")
    change(data, how)
    assert said in wrong(data)["dp_all_reduce"]


def test_flows_that_share_a_link_are_found() -> None:
    # Both inputs of one micro-switch are reduced, though each is of a flow of its own.
    data = of_switch([Flow([0, 1], [0, 1])], "small-4")
    apart = [{"inputs": [n], "outputs": [n]} for n in (0, 1)]
    data["sets"]["flows"]["flows"] = data["phases"]["flows"] = apart
    assert wrong(data) == {"flows": "endpoint 0 gets the sum of (0, 1), not of (0,)"}


def test_an_operand_that_is_reduced_twice_is_found() -> None:
    # Unit a multicasts to two links, and unit b reduces both.
    first = of_switch([Flow([0], [2, 3])], "small-4")["sets"]["flows"]["words"]["switch"]
    second = of_switch([Flow([2, 3], [0])], "small-4")["sets"]["flows"]["words"]["switch"]
    flows = [{"inputs": [0], "outputs": [1]}]
    data = of_switch([Flow([0], [1])], "small-4") | {
        "units": {one: {"ports": 4, "middle_switches": 3} for one in "ab"},
        "links": [["a.2", "b.2"], ["a.3", "b.3"]],
        "endpoints": ["a.0", "b.0"],
        "sets": {"flows": {"phase": "flows", "flows": flows, "words": {"a": first, "b": second}}},
    }
    assert wrong(data) == {"flows": "endpoint 1 gets the sum of (0, 0), not of (0,)"}
    data["links"] = [["a.2", "a.3"], ["b.2", "b.3"]]
    assert "gets no data" in wrong(data)["flows"]


def test_a_port_with_two_links_is_found() -> None:
    data = of_wafer("MP1-DP20-PP1")
    data["links"][1][0] = data["links"][0][0]
    assert "is missing or connected twice" in wrong(data)["fabric"]


def test_a_strategy_of_more_workers_than_endpoints_is_found() -> None:
    data = of_switch("MP2-DP2-PP2") | {"strategy": "MP9999-DP9999-PP9999"}
    assert wrong(data) == {"phases": "the strategy has more workers than endpoints"}


def with_axiom(data: dict[str, Any], axiom: list[int]) -> dict[str, Any]:
    """Return a certificate with one more clause at the beginning of its proof."""
    copy = deepcopy(data)
    copy["refutations"]["flows"]["proof"].insert(0, axiom)
    return copy


def test_a_dropped_clause_and_an_added_axiom_are_found() -> None:
    data = of_hard()
    assert [one.verdict for one in check(data)] == ["sound", "complete", "refuted"]
    proof = data["refutations"]["flows"]["proof"]
    assert len(proof) > 3
    for index in range(len(proof)):
        copy = deepcopy(data)
        del copy["refutations"]["flows"]["proof"][index]
        assert "flows" in wrong(copy)
    for variable in range(1, len(HARD) * 4 * 2 + 1):  # two for each of four levels
        # If both followed, so would the contradiction, and the proof could be left out.
        assert any("flows" in wrong(with_axiom(data, [one])) for one in (variable, -variable))
    said = "clause 0 of the proof does not follow"
    assert wrong(with_axiom(data, [])) == {"flows": said}
    data["refutations"]["flows"]["clique"].append(3)
    assert "share no micro-switch" in wrong(data)["flows"]


def test_a_refutation_of_other_flows_is_found() -> None:
    data = of_hard()
    said = data["refutations"]["flows"]
    data["phases"]["flows"].remove(said["flows"][3])
    assert wrong(data) == {"flows": "the refuted flows are not those of the phase"}
    said["flows"], said["proof"], said["clique"] = said["flows"][:3], [], []
    assert wrong(data) == {"flows": "the proof ends without a contradiction"}


def test_the_checker_imports_nothing_of_the_compiler() -> None:
    waiting, seen = [Path(checker.__file__)], set[Path]()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {one.name.split(".")[0] for one in node.names} <= sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1
                waiting.append(path.parent / f"{node.module}.py")
            elif isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] in sys.stdlib_module_names
    assert {path.stem for path in seen} == {"checker", "configurations", "refutation", "rup"}
    assert all(len(path.read_text().splitlines()) < 150 for path in seen)
