"""Tests of fred_hw.wafer.storage: which controller loads what to whom."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, dp_groups, expert_dp_groups, strategies
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.storage import controllers_of, storage_phases

EXAMPLES = Path(__file__).parents[3] / "examples"
FLIT = 512


def plane(name: str = "wafer-20") -> Plane:
    return Plane(load_wafer(str(EXAMPLES / f"{name}.yaml"), {"controllers": "endpoints"}))


def program(strategy: str) -> WaferProgram:
    return compile_strategy(plane().wafer, Strategy.parse(strategy), FLIT * 8)


def outputs(flows: Sequence[Flow]) -> list[tuple[int, ...]]:
    return [flow.outputs for flow in flows]


def test_npus_with_the_same_weights_get_them_together_and_store_their_sum() -> None:
    strategy = Strategy.parse("MP2-DP5-PP2")
    found = storage_phases(plane(), strategy)
    assert list(found) == ["load_0", "store_0", "input_0"]
    assert outputs(found["load_0"]) == list(dp_groups(strategy))
    for load, store in zip(found["load_0"], found["store_0"], strict=True):
        assert (load.inputs, load.outputs) == (store.outputs, store.inputs)
    # Each L1 has one member of every group, so weights come from four of them.
    assert [flow.inputs for flow in found["load_0"]] == [(20,), (24,), (28,), (32,)]
    # The samples of a replica come from its own L1, and from controllers without weights.
    assert outputs(found["input_0"]) == [(4 * k, 4 * k + 1) for k in range(5)]
    assert [flow.inputs for flow in found["input_0"]] == [(21,), (25,), (29,), (33,), (35,)]


def test_more_groups_than_controllers_take_turns() -> None:
    found = storage_phases(plane("wafer-4"), Strategy.parse("MP2-DP1-PP2"))
    assert list(found) == ["load_0", "load_1", "store_0", "store_1", "input_0"]
    assert outputs(found["load_0"]) == [(0,), (1,)]
    assert outputs(found["load_1"]) == [(2,), (3,)]
    # One L1 has both NPUs of a turn, but one controller.
    assert [flow.inputs for flow in found["load_1"]] == [(5,), (4,)]


def test_experts_are_loaded_by_themselves() -> None:
    strategy = Strategy.parse("MP2-DP4-PP1-EP2")
    found = storage_phases(plane(), strategy)
    names = ["load_0", "store_0", "expert_load_0", "expert_store_0", "input_0"]
    assert list(found) == names
    assert outputs(found["expert_load_0"]) == list(expert_dp_groups(strategy))
    assert {flow.inputs for flow in found["load_0"]}.isdisjoint(
        flow.inputs for flow in found["expert_load_0"]
    )


def test_each_context_parallel_group_of_the_first_stage_gets_input() -> None:
    found = storage_phases(plane(), Strategy.parse("MP2-DP2-PP2-CP2"))
    assert outputs(found["input_0"]) == [(0, 1), (2, 3), (8, 9), (10, 11)]


def test_links_of_controllers_have_no_phases() -> None:
    wafer = load_wafer(str(EXAMPLES / "wafer-20.yaml"))
    assert storage_phases(Plane(wafer), Strategy.parse("MP2-DP5-PP2")) == {}


def test_controllers_of_a_switch_are_taken_once_each() -> None:
    groups = [(npu,) for npu in range(18)]
    found = controllers_of(plane(), groups, {})
    assert sorted(found) == list(range(20, 38))
    assert found[12:15] == [32, 33, 34]  # the fourth NPU of that L1 has one elsewhere


def test_a_program_has_endpoints_of_controllers() -> None:
    made = program("MP2-DP5-PP2")
    assert (made.npus, made.endpoints) == (20, 38)
    said = made.to_dict()["endpoints"]
    assert list(said)[19:21] == ["npu19", "io20"]
    assert said["io20"]["address"] == 20
    assert set(said["io20"]["phases"]) == {"load_0", "store_0"}
    load, store = (said["io20"]["phases"][name] for name in ("load_0", "store_0"))
    assert (load["sends"], load["receives"]) == ([8 * made.size, made.size], None)
    assert (store["sends"], store["receives"]) == (None, [11 * made.size, made.size])
    assert said["io22"]["phases"] == {}
    assert {made.phase(name).circuit for name in ("load_0", "store_0", "input_0")} == {"dp"}


@pytest.mark.slow
def test_what_fits_without_loads_and_stores_fits_with_them() -> None:
    wafers = plane().wafer.with_changes(controllers="links"), plane().wafer
    fits: list[set[str]] = [set(), set()]
    for strategy in strategies(20):
        for wafer, found in zip(wafers, fits, strict=True):
            with suppress(ValueError):
                compile_strategy(wafer, strategy, FLIT)
                found.add(str(strategy))
    assert fits[0] == fits[1]
    assert len(fits[1]) == 152


def test_rings_are_refused_with_endpoints_at_controllers() -> None:
    message = (
        r"^collectives must be in-network with endpoints at controllers, as switches reduce what "
        r"is stored, not ring$"
    )
    with pytest.raises(ValueError, match=message):
        compile_strategy(plane().wafer, Strategy.parse("MP2-DP5-PP2"), FLIT, collectives="ring")


def test_too_few_entries_for_loads_are_refused() -> None:
    wafer = load_wafer(
        str(EXAMPLES / "wafer-20.yaml"), {"controllers": "endpoints", "protocol": {"phases": 6}}
    )
    message = r"^protocol\.phases must be 7 or more for strategy .*, not 6 \(6 of 7 phases fit\)$"
    with pytest.raises(ValueError, match=message):
        compile_strategy(wafer, Strategy.parse("MP2-DP5-PP2"), FLIT)
