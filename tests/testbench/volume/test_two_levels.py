"""One and two levels of switches, whose phases change while faults come on every link."""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fred_hw.compiler.flows import Flow
from testbench.faults.fault import Fault, noticed_by
from testbench.volume.changing import changing_steps, phase_operations, sum_packets
from testbench.volume.fabric import Fabric, one_level, two_levels
from testbench.volume.loaded_switch import SwitchConditions, build_switch, run_fabric
from testbench.volume.scenario import Burst, Unicast, Write
from tests.testbench.volume.pair import PAIR, faulty_pair

pytestmark = [pytest.mark.sim, pytest.mark.slow]

SPEC = PAIR.with_changes(ports=3)
DISTANCES = ("in a switch", "over both levels")
LEVELS = {"one level": one_level(3), "two levels": two_levels(3)}


@cache
def program() -> Path:
    return build_switch(SPEC)


def run(fabric: Fabric, steps: Sequence[Write | Burst | Unicast], **options: Any) -> dict[str, Any]:
    conditions = SwitchConditions(**{"delay": 8, "idle_limit": 200_000, **options})
    return run_fabric(program(), SPEC, fabric, steps, conditions)


def run_right(fabric: Fabric, flits: int, seed: int, **options: Any) -> dict[str, Any]:
    steps = changing_steps(SPEC, fabric, flits=flits, seed=seed)
    found = run(fabric, steps, seed=seed, **options)
    assert found["right"], (found["messages"], found["state"])
    assert found["packets"] == found["wanted_packets"]
    assert found["rewrites"] == sum(
        isinstance(step, Write) and bool(step.operations) for step in steps
    )
    # Nothing was given up, refused, or came where it does not belong.
    assert found["errors"] == [set()] * fabric.switches
    return found


each = pytest.mark.parametrize("fabric", LEVELS.values(), ids=LEVELS.keys())


@each
@pytest.mark.parametrize("seed", range(3))
def test_phases_change_while_all_else_goes_on(fabric: Fabric, seed: int) -> None:
    found = run_right(fabric, 40_000, seed, stall_percent=20 * seed)
    assert found["flits"] > 35_000
    assert found["rewrites"] > 6
    assert found["stomped"] == 0


@each
@pytest.mark.parametrize("seed", range(3))
def test_all_comes_through_storms(fabric: Fabric, seed: int) -> None:
    found = run_right(
        fabric, 20_000, seed, faults_per_million=10_000, stall_percent=20, delay=(1, 8, 20)[seed]
    )
    assert found["stomped"] > 100
    assert found["resent"] > 1000


@pytest.mark.parametrize("flits", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_million_flits_of_two_levels_come_through_ten_thousand_faults(flits: int) -> None:
    asked = flits * 106 // 100
    found = run_right(LEVELS["two levels"], asked, 1, faults_per_million=1400, stall_percent=5)
    faults = [sum(one.values()) for one in (found["faults_to_switch"], found["faults_from_switch"])]
    sys.stdout.write(
        f"{found['flits']:,} flits, {sum(faults):,} faults, {found['rewrites']} phases written, "
        f"{found['resent']:,} packets sent again, {found['stomped']:,} broken and marked, "
        f"{found['cycles']:,} cycles: {found['wrong']} wrong, {found['violations']} rules broken\n"
    )
    assert found["flits"] >= flits
    assert sum(faults) >= flits // 100
    assert min(found["link_faults"]) > flits // 10_000
    assert (
        found["rewrites"] > flits * 10 * 8 // 1_000_000
    )  # of many, all generations of most phases


def kind_of(fabric: Fabric, flow: Flow) -> tuple[str, str]:
    """Return what a flow does, and how far it goes."""
    ends = len(flow.inputs) > 1, len(flow.outputs) > 1
    kind = {
        (True, True): "all-reduce",
        (True, False): "reduction",
        (False, True): "multicast",
        (False, False): "copy",
    }[ends]
    return kind, DISTANCES[len(fabric.parts(flow)) > 1]


def packets_of(fabric: Fabric, flits: int) -> tuple[Counter[Any], Counter[Any]]:
    """Return packets of flows by their kind, and of unicasts by source and destination."""
    flows: dict[int, Sequence[Flow]] = {}
    kinds, pairs = Counter[Any](), Counter[Any]()
    for step in changing_steps(SPEC, fabric, flits=flits, seed=1):
        if isinstance(step, Write):
            flows[step.phase] = step.flows
        elif isinstance(step, Burst):
            for flow in flows[step.phase]:
                kinds[kind_of(fabric, flow)] += step.packets
        else:
            pairs[step.source, step.destination] += step.packets
    return kinds, pairs


def test_a_million_flits_have_all_kinds_of_traffic_in_them() -> None:
    """Those of the test above; all of their packets have come there."""
    kinds, pairs = packets_of(LEVELS["two levels"], 1_000_000 * 106 // 100)
    assert set(pairs) == set(product(range(6), repeat=2))
    assert min(pairs.values()) >= 100
    assert set(kinds) == set(product(("all-reduce", "multicast", "reduction", "copy"), DISTANCES))
    assert min(kinds.values()) >= 500


FAULTS = noticed_by("loaded fabric")


def run_pair(fault: Fault | None) -> dict[str, Any]:
    fabric = two_levels(2)
    pair, emitter = faulty_pair()
    return run_fabric(
        pair,
        PAIR,
        fabric,
        changing_steps(PAIR, fabric, flits=60_000),
        SwitchConditions(
            delay=8,
            faults_per_million=5000,
            stall_percent=20,
            idle_limit=50_000,
            plusargs=emitter.plusargs(fault),
        ),
    )


def test_sound_pair_passes() -> None:
    assert run_pair(None)["right"]


@pytest.mark.parametrize(("fault", "message"), FAULTS.items())
def test_fault_is_noticed(fault: Fault, message: str) -> None:
    found = run_pair(fault)
    assert not found["right"]
    assert not message or any(message in said for said in found["messages"]), found["messages"]


def test_a_destination_that_wants_something_else_is_noticed() -> None:
    fabric = LEVELS["two levels"]
    steps = changing_steps(SPEC, fabric, flits=5_000)
    for place, step in enumerate(steps):
        if isinstance(step, Write):
            packets = [
                (sent, {npu: [flit ^ 1 for flit in flits] for npu, flits in wanted.items()})
                for sent, wanted in step.packets
            ]
            steps[place] = replace(step, packets=packets)
    found = run(fabric, steps)
    assert not found["right"]
    assert any("want" in said for said in found["messages"])


def test_bursts_that_overlap_between_switches_are_given_up_and_come_in_the_end() -> None:
    """They break a rule of docs/reference/protocol.md: each waits behind the other in a queue."""
    fabric, rng, steps = LEVELS["two levels"], random.Random(1), list[Write | Burst | Unicast]()
    for number, members in enumerate([(0, 2), (1, 3)]):
        flow = Flow(members, members)
        operations = phase_operations(SPEC, fabric.parts(flow), number, 0, 0)
        packets = sum_packets(rng, SPEC, [flow])
        steps.append(Write(number, 0, 0, [flow], packets, operations))
    # Ports 1 and 2 come late to their own.
    steps += [Unicast(1, 1, 0, 40), Unicast(2, 2, 0, 40)]
    both = [Burst(0, 6, (0, 1)), Burst(1, 6, (0, 1))]
    found = run(fabric, [*steps, *both], idle_limit=10 * SPEC.protocol.head_of_line_timeout_cycles)
    assert found["right"], (found["messages"], found["state"])
    assert set().union(*found["errors"]) == {"stuck"}
    apart = run(fabric, [*steps, both[0], replace(both[1], after=(len(steps),))])
    assert apart["right"]
    assert apart["errors"] == [set()] * fabric.switches
