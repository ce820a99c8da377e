"""Tests of tracemodel.astra.engine.uneven: all-to-alls whose ranks or peers differ in bytes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import shared_topology
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.job import Job
from tracemodel.astra.engine.repeated import run_jobs
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network
from tracemodel.astra.transport import NETWORK_MODELS
from tracemodel.chakra.kinds import CollectiveType
from tracemodel.chakra.node import Attr, Node

from .nodes import collective, compute, run, setup

MIB = 1 << 20
SWITCH = Network([Dimension("switch", 4, 50, 500)])
DIRECT: dict[str, Any] = {"endpoint_delay": 10, "all_to_all_implementation": ["direct"]}


def all_to_all(number: int, size: int, sizes: Sequence[int] = (), **attrs: Any) -> Node:
    """Return an all-to-all; with sizes, one for each rank."""
    one = collective(number, size, kind=CollectiveType.ALL_TO_ALL, **attrs)
    more = (Attr("comm_sizes", "int64_list", tuple(sizes)),) if sizes else ()
    return replace(one, attrs=one.attrs + more)


@pytest.mark.parametrize(
    ("model", "ends"),
    [
        ("unaware", [20_551, 20_551, 20_551, 20_541]),
        ("aware", [64_495, 74_261, 79_144, 79_134]),
    ],
)
def test_ranks_that_give_different_bytes(model: str, ends: list[int]) -> None:
    """Rank r of 4 at a switch gives (r + 1) MiB, a quarter to each, at 53.687 bytes per ns.

    Without congestion the messages of rank 3, 1 MiB each, leave at 10 ns and arrive
    floor(1,000 + 19,531.25) = 20,531 ns later. The others end 10 ns after that, at 20,551, and
    rank 3 once its messages are there, at 20,541.

    With congestion the link from rank 3 is busy for 19,531 ns with each of its messages, to ranks
    0, 1 and 2. They are at the switch 20,031 ns after they begin there, at 20,041, 39,572 and
    59,103 ns. The last one is at rank 2, whose link is free, at 79,134. Messages of rank 1 and rank
    2 to rank 0 are at the switch at 29,805 and 29,806, and wait for that of rank 3: 39,572 + 9,765
    + 15,148 = 64,485. The one of rank 2 to rank 1 waits too: 39,572 + 19,531 + 15,148 = 74,251.
    """
    nodes = [[all_to_all(1, (rank + 1) * MIB)] for rank in range(4)]
    times, _ = run(setup(network=SWITCH, **DIRECT), *nodes, model=model)
    assert [one.total_ns for one in times] == ends


def test_bytes_of_the_busiest_link_take_their_time_in_our_simulation() -> None:
    """Rank 3 sends 3 MiB in three messages that share its link: 58,593.75 ns and 2 * 10 ns."""
    nodes = [[all_to_all(1, (rank + 1) * MIB)] for rank in range(4)]
    times, _ = run(setup(network=SWITCH, **DIRECT), *nodes, model="fluid")
    assert 58_614 <= max(one.total_ns for one in times) <= 58_614 + 1_000  # latency


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_equal_sizes_take_as_long_as_a_direct_all_to_all(model: str) -> None:
    given = setup(network=SWITCH, **DIRECT)
    even, _ = run(given, *[[all_to_all(1, MIB)]] * 4, model=model)
    said, _ = run(given, *[[all_to_all(1, MIB, [MIB // 4] * 4)]] * 4, model=model)
    # Latency of messages that share a link is hidden behind their bytes in our simulation.
    assert 0 <= even[0].total_ns - said[0].total_ns <= (1_000 if model == "fluid" else 0)


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_peers_that_get_different_bytes(model: str) -> None:
    """Rank 0 gives 3,000 bytes to rank 2 and 1,000 to rank 1, rank 1 2,000 to rank 0.

    All are fully connected at a byte per ns and 1,000 ns apart, so nothing shares a link. A rank
    ends when what it sends and receives is there.
    """
    sizes = [[7, 1_000, 3_000], [2_000, 0, 0], [0, 0, 5]]
    nodes = [[all_to_all(1, 0, own)] for own in sizes]
    times, _ = run(setup(3), *nodes, model=model)
    assert [one.total_ns for one in times] == [4_000, 3_000, 4_000]


def test_an_uneven_all_to_all_begins_when_all_ranks_are_there() -> None:
    nodes = [[compute(0, 5), replace(all_to_all(1, 2_000), data_deps=(0,))], [all_to_all(1, 4_000)]]
    _, spans = run(setup(), *nodes)
    assert spans[0, 1] == (5_000, 5_000 + 1_000 + 2_000)
    assert spans[1, 1] == (0, 5_000 + 1_000 + 2_000)


def test_groups_and_single_ranks() -> None:
    given = setup(3, groups={"1": (2, 0), "2": (1,)}, endpoint_delay=3)
    nodes = [[all_to_all(1, size, pg_name=group)] for size, group in ((8, "1"), (9, "2"), (4, "1"))]
    _, spans = run(given, *nodes)
    # A group has an endpoint delay of 10 ns; a rank alone has nothing to send.
    assert spans[0, 1] == (0, 10 + 1_002 + 10)
    assert spans[2, 1] == (0, 10 + 1_004 + 10)
    assert spans[1, 1] == (0, 0)


@pytest.mark.parametrize("name", ["mesh:4x2", "fred-d"])
def test_uneven_on_a_fabric_of_ours(name: str) -> None:
    fabric = shared_topology(name)
    given = Setup(FluidNetwork([FabricLine(fabric)]), setup().system)
    few, many = (
        run(given, *[[all_to_all(1, size + 8 * rank)] for rank in range(8)], model="fluid")[0]
        for size in (1 << 20, 1 << 22)
    )
    assert 0 < few[0].total_ns < many[0].total_ns


def test_symmetry_and_repeats_do_not_change_the_result() -> None:
    given = setup(network=SWITCH, **DIRECT)
    nodes: list[list[Node]] = []
    for rank in range(4):
        one: list[Node] = []
        for step in range(40):
            one.append(compute(2 * step, 3, [2 * step - 1] if step else []))
            deps = (2 * step,)
            one.append(replace(all_to_all(2 * step + 1, (1 + rank // 2) * MIB), data_deps=deps))
        nodes.append(one)
    traces = [trace_of(iter(one), given.system, "w") for one in nodes]
    job = Job(traces, (0, 1, 2, 3))
    plain = run_jobs([job], given, "unaware", symmetry=False, repeats=False)
    short = run_jobs([job], given, "unaware")
    assert (short.times, short.faster) == (plain.times, plain.faster)
    assert short.left_out > 0
    assert plain.faster is not None and plain.faster.of == 40
    assert GraphEngine(traces, given, "unaware").run() == plain.times


@pytest.mark.parametrize(
    ("nodes", "line"),
    [
        (
            [[all_to_all(1, 0, [1, 2, 3])], [all_to_all(1, 0, [1, 2])]],
            r"w\.0\.et: node 1: comm_sizes: must be 2, one for each rank that takes part, not 3",
        ),
        (
            [[replace(all_to_all(1, 0), attrs=(*all_to_all(1, 0).attrs, Attr("comm_sizes")))], []],
            r"w\.0\.et: node 1: comm_sizes: must be a list of integers, not of kind none",
        ),
        (
            [[all_to_all(1, 0, [-1, 2])], []],
            r"w\.0\.et: node 1: comm_sizes: must be integers from 0 to \d+, not -1",
        ),
        (
            [[all_to_all(1, 8)], []],
            r"w\.1\.et: must take part in 1 all_to_all of all ranks, as rank 0 .*",
        ),
        (
            [[all_to_all(1, 8), all_to_all(2, 6)], [all_to_all(1, 6), all_to_all(2, 8)]],
            r"w\.1\.et: node 1: comm_type: must be all_to_all of 8 bytes, as node 1 of .*",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(nodes: list[list[Node]], line: str) -> None:
    with pytest.raises(InputError, match=f"^{line}$"):
        run(setup(), *nodes)
