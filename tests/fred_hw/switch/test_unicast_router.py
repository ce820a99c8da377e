"""Tests of fred_hw.switch.unicast_router, against a model that tries every path."""

import random
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from fred_hw.compiler.assembly import assemble
from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.shape import split_count
from fred_hw.spec import SwitchSpec
from fred_hw.switch.unicast_router import UnicastRouter
from testbench.models.golden import deliver
from tests.fred_hw.simulation import trace

Path = tuple[int, ...]
Connections = dict[int, tuple[int, Path]]


def links(source: int, destination: int, path: Path) -> Iterator[tuple[str, Path, int]]:
    """Yield the links between levels that a path uses."""
    for level in range(1, len(path) + 1):
        yield "to", path[:level], source >> level
        yield "from", path[:level], destination >> level


def leftmost(
    connections: Connections, source: int, destination: int, ports: int, middle: int
) -> Path | None:
    """Return the leftmost free path between two ports, or None."""
    if source in connections or destination in {end for end, _ in connections.values()}:
        return None
    used = {link for start, (end, path) in connections.items() for link in links(start, end, path)}
    for path in product(range(middle), repeat=split_count(ports)):
        if used.isdisjoint(links(source, destination, path)):
            return path
    return None


@cache
def heard(word: int, ports: int, middle: int) -> list[int | None]:
    """Return the source that each destination hears under a word of the interconnect."""
    spec = SwitchSpec(ports=ports, middle=middle, lanes=1, format="int8")
    configuration = Configuration.unpack(word, ports, middle)
    arrived = deliver(spec, configuration, [np.array([k], "u1") for k in range(ports)])
    return [None if flit is None else int(flit[0]) for flit in arrived]


class RouterBench:
    """A router in the simulator, and what should be connected in it."""

    def __init__(self, ports: int, middle: int) -> None:
        self.ports, self.middle = ports, middle
        self.dut = UnicastRouter(ports=ports, middle=middle)
        self.connections: Connections = {}
        self.granted = self.blocked = 0

    def run(self, test: Callable[[Any], Awaitable[None]]) -> None:
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-9)
        simulator.add_testbench(test)
        simulator.run()

    @property
    def free_sources(self) -> list[int]:
        return [port for port in range(self.ports) if port not in self.connections]

    @property
    def free_destinations(self) -> list[int]:
        taken = {end for end, _ in self.connections.values()}
        return [port for port in range(self.ports) if port not in taken]

    async def cycle(
        self,
        ctx: Any,
        request: tuple[int, int] | None = None,
        release: int = 0,
        clear: bool = False,
    ) -> bool:
        """Run one cycle and check all outputs; return whether the request was granted."""
        dut, before = self.dut, dict(self.connections)
        ends = request or (release % self.ports, 0)  # any: without a request nobody looks
        path = leftmost(before, *ends, self.ports, self.middle)
        want = request is not None and path is not None and not clear
        ctx.set(dut.request, int(request is not None))
        ctx.set(dut.source, 1 << ends[0])
        ctx.set(dut.destination, 1 << ends[1])
        ctx.set(dut.leave, release)
        ctx.set(dut.clear, int(clear))
        granted = bool(ctx.get(dut.granted))
        assert granted == want, f"{request} beside {before}: granted {granted}, want {want}"
        if ends[0] in self.free_sources and ends[1] in self.free_destinations:
            assert path is not None or self.middle < 3, "three subswitches always have a path"
            self.blocked += path is None
        self.connections = {
            source: end for source, end in before.items() if not clear and not release >> source & 1
        }
        if granted and path is not None:
            self.connections[ends[0]] = (ends[1], path)
            self.granted += 1
        await ctx.tick()
        self._check(ctx)
        return granted

    def _check(self, ctx: Any) -> None:
        dut, ports, middle = self.dut, self.ports, self.middle
        assert ctx.get(dut.connected) == sum(1 << source for source in self.connections)
        for port, reached in enumerate(dut.destination_of):
            want = 1 << self.connections[port][0] if port in self.connections else 0
            assert ctx.get(reached) == want
        assert ctx.get(dut.taken) == sum(1 << end for end, _ in self.connections.values())
        word = ctx.get(dut.configuration)
        sources = {destination: source for source, (destination, _) in self.connections.items()}
        assert heard(word, ports, middle) == [sources.get(port) for port in range(ports)]
        # Paths in the model stay as they are, so a running one that moved would show here.
        flows = [Flow([source], [end]) for source, (end, _) in self.connections.items()]
        paths = [path for _, path in self.connections.values()]
        assert Configuration.unpack(word, ports, middle) == assemble(flows, paths, ports, middle)


@pytest.mark.parametrize("middle", [2, 3, 4])
@pytest.mark.parametrize("ports", [2, 3, 5, 8, pytest.param(12, marks=pytest.mark.slow)])
def test_random_connections(ports: int, middle: int) -> None:
    cycles = 400
    bench, rng = RouterBench(ports, middle), random.Random(100 * ports + middle)

    async def test(ctx: Any) -> None:
        for number in range(cycles):
            # Full for a while, then emptier, and so on.
            rate = (0.02, 0.1, 0.4)[number // 40 % 3]
            release = sum((rng.random() < rate) << port for port in range(ports))
            request = None
            if rng.random() < 0.9:
                any_port = range(ports)
                free = rng.random() < 0.9
                request = (
                    rng.choice((free and bench.free_sources) or any_port),
                    rng.choice((free and bench.free_destinations) or any_port),
                )
            await bench.cycle(ctx, request, release, clear=rng.random() < 0.01)

    bench.run(test)
    assert bench.granted > cycles // 8
    if middle == 2 and ports >= 5:
        assert bench.blocked


@pytest.mark.parametrize(("middle", "granted"), [(2, False), (3, True)])
def test_two_subswitches_block_where_three_do_not(middle: int, granted: bool) -> None:
    bench = RouterBench(3, middle)

    async def test(ctx: Any) -> None:
        # Beside 1 -> 1, 0 -> 2 takes the link to subswitch 0 and 2 -> 0 that from subswitch 1.
        assert await bench.cycle(ctx, (0, 1))
        assert await bench.cycle(ctx, (2, 0))
        await bench.cycle(ctx, release=0b001)
        assert await bench.cycle(ctx, (0, 2))
        assert bench.connections == {2: (0, (1,)), 0: (2, (0,))}
        assert await bench.cycle(ctx, (1, 1)) == granted

    bench.run(test)


def test_latency_of_a_release_is_a_cycle() -> None:
    bench = RouterBench(4, 3)

    async def test(ctx: Any) -> None:
        assert await bench.cycle(ctx, (0, 3))
        assert not await bench.cycle(ctx, (1, 3), release=0b0001)
        assert await bench.cycle(ctx, (1, 3), release=0b1111)  # 1 has nothing to release
        assert bench.connections == {1: (3, (0,))}

    bench.run(test)


def test_clear_ends_all_and_grants_nothing() -> None:
    bench = RouterBench(5, 3)

    async def test(ctx: Any) -> None:
        for port in range(4):
            assert await bench.cycle(ctx, (port, 4 - port))
        assert not await bench.cycle(ctx, (4, 0), clear=True)
        assert not bench.connections
        assert await bench.cycle(ctx, (4, 0))

    bench.run(test)


@pytest.mark.parametrize("ends", [(0, 2), (2, 0), (0, 0)])
def test_without_a_source_or_a_destination_nothing_is_connected(ends: tuple[int, int]) -> None:
    request = {"request": 1, "source": ends[0], "destination": ends[1]}
    watch = ["granted", "connected", "taken", "configuration"]
    seen = trace(UnicastRouter(ports=5, middle=3), [request, {}], watch)
    assert seen == [(0, 0, 0, 0)] * 2


State = frozenset[tuple[int, tuple[int, Path]]]
Step = tuple[tuple[int, int] | None, int]


def steps(state: State, ports: int, middle: int) -> dict[Step, State]:
    """Return what each single request and each single release leads to."""
    connections, after = dict(state), {}
    for ends in product(range(ports), repeat=2):
        source, destination = ends
        path = leftmost(connections, source, destination, ports, middle)
        after[ends, 0] = state if path is None else state | {(source, (destination, path))}
    for entry in state:
        after[None, 1 << entry[0]] = state - {entry}
    return after


def reachable(ports: int, middle: int) -> dict[State, dict[Step, State]]:
    graph: dict[State, dict[Step, State]] = {}
    front: list[State] = [frozenset()]
    while front:
        state = front.pop()
        if state not in graph:
            graph[state] = steps(state, ports, middle)
            front += graph[state].values()
    return graph


def way(
    graph: dict[State, dict[Step, State]], left: dict[State, list[Step]], state: State
) -> list[Step]:
    """Return the shortest way to a step that is left, with that step."""
    seen, front = {state}, deque[tuple[State, list[Step]]]([(state, [])])
    while front:
        here, so_far = front.popleft()
        if left[here]:
            return [*so_far, left[here].pop()]
        for step, there in graph[here].items():
            if there not in seen:
                seen.add(there)
                front.append((there, [*so_far, step]))
    return []


@pytest.mark.parametrize(
    ("ports", "middle"),
    [(3, 2), (3, 3), pytest.param(4, 3, marks=pytest.mark.slow)],
)
def test_every_step_from_every_reachable_state(ports: int, middle: int) -> None:
    graph = reachable(ports, middle)
    left = {state: list(after) for state, after in graph.items()}
    bench = RouterBench(ports, middle)
    seen: set[State] = set()

    async def test(ctx: Any) -> None:
        while route := way(graph, left, frozenset(bench.connections.items())):
            for request, release in route:
                await bench.cycle(ctx, request, release)
                seen.add(frozenset(bench.connections.items()))

    bench.run(test)
    assert seen == set(graph)
    assert bool(bench.blocked) == (middle == 2)


@pytest.mark.parametrize(
    ("ports", "middle", "message"),
    [
        (1, 3, "UnicastRouter ports must be 2 or more, not 1"),
        (4, 1, "UnicastRouter middle must be 2 or more, not 1"),
        (True, 3, "UnicastRouter ports must be an integer, not True"),
    ],
)
def test_wrong_sizes_are_refused(ports: int, middle: int, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        UnicastRouter(ports=ports, middle=middle)


def test_throughput_is_a_request_per_cycle_and_any_number_of_releases() -> None:
    requests = [{"request": 1, "source": 1 << k, "destination": 8 >> k} for k in range(4)]
    cycles = [*requests, {"leave": 0b0101}, {}]
    seen = trace(UnicastRouter(ports=4, middle=3), cycles, ["granted", "connected"])
    assert seen == [(1, 0), (1, 1), (1, 3), (1, 7), (0, 15), (0, 10)]


def test_reset_ends_all_connections() -> None:
    cycles = [{"request": 1, "source": 2, "destination": 4}, {"rst": 1}, {}]
    seen = trace(
        UnicastRouter(ports=4, middle=3), cycles, ["connected", "taken", "destination_of[1]"]
    )
    assert seen == [(0, 0, 0), (2, 4, 4), (0, 0, 0)]
