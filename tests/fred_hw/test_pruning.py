"""Tests of fred_hw.pruning."""

from functools import cache
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from fred_hw.certificate.checker import check
from fred_hw.certificate.writing import certify_switch
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.control.phase_entry import entry_word
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from fred_hw.pruning import kept_parts, needed_result, needed_results, prune, read_needs
from fred_hw.spec import SwitchSpec
from tests.documented import documented_keys, read_keys

SPEC = SwitchSpec(ports=8, middle_switches=3, lanes=1, format="int8")
L1 = load_spec("l1-12", {"lanes": 1})


@cache
def chiplet() -> SwitchSpec:
    """Return the chiplet of the wafer, pruned for the published strategies."""
    return prune(L1, read_needs(EXAMPLES / "strategies.yaml", L1), "strategies.yaml")


def needs_file(folder: Path, text: str) -> Path:
    path = folder / "needs.yaml"
    path.write_text(text)
    return path


def test_strategies_of_a_switch_need_all_their_phases(tmp_path: Path) -> None:
    needs = read_needs(needs_file(tmp_path, "strategies: [MP2-DP2-PP2, MP8-DP1-PP1]"), SPEC)
    assert list(needs) == [
        "MP2-DP2-PP2:mp_all_reduce",
        "MP2-DP2-PP2:dp_all_reduce",
        "MP2-DP2-PP2:pp_forward",
        "MP2-DP2-PP2:pp_backward",
        "MP8-DP1-PP1:mp_all_reduce",
    ]
    assert needs["MP8-DP1-PP1:mp_all_reduce"] == (Flow(range(8), range(8)),)


def test_published_strategies_prune_the_chiplet_of_the_wafer() -> None:
    names = [name for name, _ in chiplet().only or ()]
    assert len(names) == 54
    assert {name.rpartition(":")[2] for name in names} == {"l1_0", "l1_1", "l1_2"}
    assert kept_parts(chiplet()) == {
        "kept": {"microswitches": 43, "reduction_units": 3, "connections": 105},
        "full": {"microswitches": 93, "reduction_units": 51, "connections": 576},
    }


def test_independent_checker_accepts_every_configuration_of_the_chiplet() -> None:
    results = needed_results(chiplet())
    certificate = certify_switch(chiplet(), None, results, max_conflicts=0)
    verdicts = [one.verdict for one in check(certificate)]
    assert verdicts == ["sound", "complete", *["routed"] * 54]


def test_configurations_of_a_specification_are_found_by_their_flows() -> None:
    needs = phases(Strategy.parse("MP2-DP2-PP2"))
    pruned = prune(SPEC, needs, "needs")
    for name, flows in needs.items():
        result = needed_result(pruned, name, reversed(flows), "needs")
        assert result.configuration is not None
        assert f"{result.configuration.pack():#x}" == dict(pruned.only or ())[name]
    message = (
        r"^needs: only: must have a configuration for others \(\[0, 1\] -> \[0, 1\]\), "
        r"not only 4 others$"
    )
    with pytest.raises(InputError, match=message):
        needed_result(pruned, "others", [Flow([0, 1], [0, 1])], "needs")


def test_a_configuration_that_was_pruned_has_no_entry() -> None:
    pruned = prune(SPEC, {"pair": [Flow([0, 1], [0, 1])]}, "needs")
    own = needed_results(pruned)["pair"]
    other = needed_results(prune(SPEC, {"pair": [Flow([2, 3], [0, 1])]}, "needs"))["pair"]
    assert own.configuration is not None and other.configuration is not None
    assert entry_word(pruned, own.configuration, own.flows, 0)
    message = r"^configuration must be one of the words in spec\.only, not 0x5\w+$"
    with pytest.raises(ValueError, match=message):
        entry_word(pruned, other.configuration, other.flows, 0)


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("strategies: [MP4-DP4-PP1]", "strategies.0", r"must have at most as many workers .* 16"),
        ("strategies: [MP2-DP3-PP1-EP2]", "strategies.0", r"must have an EP that divides DP, .*"),
        ("strategies: [MP1-DP1-PP1]", "strategies", "must send data through the switch, not none"),
        ("strategies: [MP2]", "strategies.0", "must be of the form MP2-DP5-PP2, not 'MP2'"),
        ("strategies: []", "strategies", r"must have 1 or more entries, not \[\]"),
    ],
)
def test_strategies_that_do_not_fit_are_refused(
    text: str, field: str, message: str, tmp_path: Path
) -> None:
    path = needs_file(tmp_path, text)
    with pytest.raises(InputError, match=f"^.*needs.yaml: {field}: {message}$"):
        read_needs(path, SPEC)


def test_a_wafer_without_such_chiplets_is_refused() -> None:
    wafer = EXAMPLES / "wafer-20-controllers.yaml"
    with pytest.raises(InputError) as raised:
        read_needs(EXAMPLES / "strategies.yaml", SPEC)
    assert raised.value.source == str(wafer) and raised.value.field == "switches"
    message = "must have a switch of 8 ports and 3 middle_switches, as SPEC has"
    assert raised.value.message == message


def test_flows_without_routing_are_refused() -> None:
    circle = (Flow((0, 2), (0,)), Flow((1, 4), (2,)), Flow((3, 5), (4,)))
    message = "^needs: strategies: must have flows that can be routed at once, not those of circle$"
    with pytest.raises(InputError, match=message):
        prune(SPEC.with_changes(middle_switches=2), {"circle": circle}, "needs")


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("strategies") == documented_keys("strategies") != []
