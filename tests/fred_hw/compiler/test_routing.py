"""Tests of fred_hw.compiler.routing."""

import random
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import phases, strategies
from fred_hw.compiler.routing import RoutingResult, route, route_in_rounds
from tests.examples import examples

CIRCLE = (Flow((0, 2), (0,)), Flow((1, 4), (2,)), Flow((3, 5), (4,)))
"""Each pair shares an input micro-switch of FRED_m(8): 0 and 1, 2 and 3, 4 and 5."""

Wire = frozenset[int]


class Walk:
    """Carries sets of input ports through a configuration word, by the encoding contract alone.

    A wire holds the ports whose data is on it. Every wire that carries something must be set to go
    somewhere, and every switch that is set must have something to carry.
    """

    def __init__(
        self, flows: tuple[Flow, ...], word: int, ports: int, middle_switches: int
    ) -> None:
        self.flows, self.word, self.middle_switches = flows, word, middle_switches
        owner = {port: flow for flow in flows for port in flow.inputs}
        wires = [frozenset([port]) if port in owner else frozenset() for port in range(ports)]
        self.owner = owner
        self.outputs = self.cross(wires)
        assert self.word == 0, "bits are left over"

    def take(self, bits: int) -> int:
        low = self.word & ((1 << bits) - 1)
        self.word >>= bits
        return low

    def merge(self, *wires: Wire) -> Wire:
        """Reduce: what meets must be of one flow, and nothing of it twice."""
        both = frozenset().union(*wires)
        assert all(wires) and len(both) == sum(map(len, wires))
        assert len({self.owner[port] for port in both}) == 1, "flows are mixed"
        return both

    def cross(self, wires: list[Wire]) -> list[Wire]:
        if len(wires) == 2:
            choices = [self.take(2), self.take(2)]
            used = {0: (), 1: (0,), 2: (1,), 3: (0, 1)}
            left = {k for k in (0, 1) if wires[k]} - {k for c in choices for k in used[c]}
            assert not left, "data is dropped"
            return [self.merge(*(wires[k] for k in used[c])) if c else Wire() for c in choices]
        count, width = len(wires), self.middle_switches.bit_length()
        half = (count + 1) // 2
        inner: list[list[Wire]] = [[frozenset()] * half for _ in range(self.middle_switches)]
        for port, wire in enumerate(wires):  # pairs first, low bits first, then the demultiplexer
            to = self.take(width)
            assert (to != 0) == bool(wire), "idle with data, or set without"
            if to:
                own = inner[to - 1]
                own[port // 2] = self.merge(own[port // 2], wire) if own[port // 2] else wire
        results = [self.cross(part) for part in inner]
        found: list[Wire] = []
        used_wires: set[tuple[int, int]] = set()
        for port in range(count):
            source = self.take(width)
            found.append(results[source - 1][port // 2] if source else frozenset())
            assert not source or found[-1], "set without data"
            used_wires.add((source - 1, port // 2))
        carrying = {(c, k) for c, part in enumerate(results) for k, w in enumerate(part) if w}
        assert carrying <= used_wires, "data is dropped"
        return found


def assert_delivers(result: RoutingResult) -> None:
    """Every output gets exactly the inputs of its flow, and all other wires stay idle."""
    assert result.status == "routed" and result.configuration is not None
    configuration = result.configuration
    walk = Walk(
        result.flows, configuration.pack(), configuration.ports, configuration.middle_switches
    )
    want = {port: frozenset(flow.inputs) for flow in result.flows for port in flow.outputs}
    assert walk.outputs == [want.get(k, frozenset()) for k in range(configuration.ports)]


def unicasts(rng: random.Random, ports: int, count: int) -> list[Flow]:
    pairs = zip(rng.sample(range(ports), count), rng.sample(range(ports), count), strict=True)
    return [Flow((source,), (sink,)) for source, sink in pairs]


def random_flows(rng: random.Random, ports: int) -> list[Flow]:
    """Return disjoint flows of random ports, most of them small, some ports left idle."""
    inputs, outputs = (rng.sample(range(ports), ports) for _ in range(2))
    flows = []
    while inputs and outputs and rng.random() < 0.95:
        sides = []
        for free in (inputs, outputs):
            size = min(len(free), rng.choice((1, 1, 2, 2, 3, ports)))
            sides.append([free.pop() for _ in range(size)])
        flows.append(Flow(*sides))
    return flows


RANDOMS = st.randoms(use_true_random=False)


def test_a_circle_of_three_conflicts_with_two_subswitches() -> None:
    spare = Flow((6,), (6,))
    result = route((CIRCLE[0], spare, *CIRCLE[1:]), 8, 2)
    assert (result.status, result.conflict, result.smallest) == ("conflict", (0, 2, 3), True)
    assert result.configuration is None


def test_a_circle_of_three_routes_with_three_subswitches() -> None:
    assert_delivers(route(CIRCLE, 8, 3))


@pytest.mark.slow
@given(st.integers(2, 64), st.integers(3, 8), RANDOMS)
@examples(60)
def test_every_permutation_routes(ports: int, middle_switches: int, rng: random.Random) -> None:
    assert_delivers(route(unicasts(rng, ports, ports), ports, middle_switches))


@given(st.integers(2, 64), RANDOMS)
@examples(60)
def test_two_subswitches_can_be_rearranged_for_every_permutation(
    ports: int, rng: random.Random
) -> None:
    assert_delivers(route(unicasts(rng, ports, ports), ports, 2, max_conflicts=0))


@given(st.integers(2, 64), st.integers(2, 5), RANDOMS)
@examples(60)
def test_part_of_a_permutation_routes(ports: int, middle_switches: int, rng: random.Random) -> None:
    assert_delivers(route(unicasts(rng, ports, rng.randint(0, ports)), ports, middle_switches))


@given(st.integers(2, 24), st.integers(2, 5), RANDOMS)
@examples(150)
def test_routed_flows_are_delivered_and_rounds_hold_all(
    ports: int, middle_switches: int, rng: random.Random
) -> None:
    flows = random_flows(rng, ports)
    rounds = route_in_rounds(flows, ports, middle_switches)
    for result in rounds:
        assert_delivers(result)
    assert sorted(flow for result in rounds for flow in result.flows) == sorted(flows)
    assert len(rounds) <= max(1, len(flows)) and (len(rounds) > 0) == bool(flows)


def test_one_flow_of_all_ports_routes() -> None:
    for ports in (2, 3, 7, 12, 64):
        assert_delivers(route([Flow(range(ports), range(ports))], ports, 2))
    assert_delivers(route([], 5, 2))


@pytest.mark.parametrize("ports", [2, 3, 8, 11, 12])
def test_three_subswitches_route_every_phase_of_every_strategy(ports: int) -> None:
    for strategy in strategies(ports):
        for flows in phases(strategy, ports=ports).values():
            assert_delivers(route(flows, ports, 3))


@given(st.integers(4, 16), RANDOMS)
@examples(80)
def test_order_of_the_flows_changes_nothing(ports: int, rng: random.Random) -> None:
    flows = random_flows(rng, ports)
    mixed = rng.sample(flows, len(flows))
    first, second = route(flows, ports, 2), route(mixed, ports, 2)
    assert (first.status, first.smallest) == (second.status, second.smallest)
    assert {flows[n] for n in first.conflict} == {mixed[n] for n in second.conflict}
    assert first.configuration == second.configuration


def test_unrelated_flows_change_nothing() -> None:
    left = [Flow((0, 2), (1,)), Flow((1,), (0, 3)), Flow((3,), (2,))]
    right = [Flow((4 + k,), (7 - k,)) for k in range(4)]
    alone, together = route(left, 8, 3), route([*right, *left], 8, 3)
    assert alone.paths is not None and together.paths is not None
    assert alone.paths == together.paths[len(right) :]


def test_hash_seed_changes_nothing() -> None:
    program = (
        "import random\n"
        "from fred_hw.compiler.flows import Flow\n"
        "from fred_hw.compiler.routing import route\n"
        "rng = random.Random(5)\n"
        "def some(free):\n"
        "    return [free.pop() for _ in range(min(len(free), rng.choice((1, 2, 3))))]\n"
        "for _ in range(20):\n"
        "    a, b = rng.sample(range(32), 32), rng.sample(range(32), 32)\n"
        "    flows = []\n"
        "    while a and b: flows.append(Flow(some(a), some(b)))\n"
        "    for m in (2, 3): result = route(flows, 32, m); print(result)\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1 and len(texts.pop()) > 1000


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            ([Flow((8,), (0,))], 8, 2),
            ValueError,
            "inputs of flow 0 must be ports from 0 to 7, not 8",
        ),
        (([], 1, 2), ValueError, "ports must be 2 or more, not 1"),
        (([], 8, 1), ValueError, "middle_switches must be 2 or more, not 1"),
        (([], 8, 2.0), TypeError, "middle_switches must be an integer, not 2.0"),
    ],
)
def test_bad_argument_is_refused(arguments: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        route(*arguments)
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        route_in_rounds(*arguments)


def test_negative_effort_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^max_conflicts must be 0 to 1000000000, not -1$"):
        route([], 8, 2, max_conflicts=-1)
