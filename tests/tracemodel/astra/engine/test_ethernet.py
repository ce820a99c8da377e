"""Tests of tracemodel.astra.engine.ethernet."""

from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.network.roce.parameters import SCHEMES, RoceFile
from perfmodel.network.run import run_collective
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology
from tests.tracemodel.astra.engine.nodes import collective, compute, message, run, setup
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.chakra.kinds import CollectiveType

LATENCY_NS, RATE, WIRE = 500.0, 25.0, 1048.0
"""Of each link of a switch [ns], [B/ns]; bytes of a packet with its header."""

SWITCH = Clos(gpus_per_leaf=4, latency_us=(0.5,))
NARROW = Clos(gpus_per_leaf=2, pods=(2,), widths=(1,), gbps=(200, 200), latency_us=(0.5, 0.5))


def _on(topology: Topology, algorithm: str = "published", **options: Any) -> Setup:
    network = FluidNetwork([FabricLine(topology, algorithm)])
    return replace(setup(), network=network, roce=RoceFile.model_validate(options))


def _switch(**options: Any) -> Setup:
    return _on(clos_file(SWITCH).build("switch"), **options)


def _alone_ns(packets: int) -> int:
    return ceil((packets + 1) * WIRE / RATE + 2 * LATENCY_NS - 1e-6)


def test_a_message_takes_its_bytes_and_two_links() -> None:
    send, receive = message(1, 0, 1, 50_000)
    times, spans = run(_switch(train_packets=1), [send], [receive], model="roce")
    assert spans[0, 1] == spans[1, 1] == (0, _alone_ns(50))
    assert times[0].total_ns == _alone_ns(50)


def test_messages_to_the_same_npu_share_its_link() -> None:
    sends = [message(1, source, 0, 50_000) for source in (1, 2, 3)]
    receives = [replace(one[1], id=number) for number, one in enumerate(sends, start=1)]
    given = _switch(train_packets=1)
    _, spans = run(given, receives, *([one[0]] for one in sends), model="roce")
    ends = sorted(spans[0, number][1] for number in (1, 2, 3))
    assert ends[-1] == _alone_ns(150)
    assert all(_alone_ns(140) < end <= _alone_ns(150) for end in ends)


def test_messages_one_after_the_other_are_alone() -> None:
    first, second = message(1, 1, 0, 50_000), message(2, 2, 0, 50_000, comm_tag=6)
    early, late = [first[0]], [compute(1, 100), replace(second[0], data_deps=(1,))]
    _, spans = run(_switch(train_packets=1), [first[1], second[1]], early, late, model="roce")
    assert spans[1, 1] == (0, _alone_ns(50))
    assert spans[2, 2] == (100_000, 100_000 + _alone_ns(50))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        (CollectiveType.ALL_REDUCE, "all_reduce"),
        (CollectiveType.ALL_TO_ALL, "all_to_all"),
        (CollectiveType.ALL_GATHER, "all_gather"),
    ],
    ids=["all_reduce", "all_to_all", "all_gather"],
)
def test_a_collective_alone_takes_as_long_as_by_itself(
    kind: CollectiveType, pattern: str, scheme: str
) -> None:
    topology = clos_file(NARROW).build("narrow")
    given = _on(topology, congestion_control=scheme)
    times, _ = run(given, *[[collective(1, 400_000, kind=kind)]] * 4, model="roce")
    size = 400_000 * (4 if pattern == "all_gather" else 1)
    fabric = topology.with_network_options("roce", given.roce)
    want = run_collective(fabric, pattern, size, None, None, "published", "roce")
    assert {one.total_ns for one in times} == {ceil(1e9 * want.time_s - 1e-6)}


def test_a_collective_and_a_message_delay_each_other() -> None:
    given = replace(_on(clos_file(NARROW).build("narrow")), groups={"1": (0, 2)})
    reduce = [collective(1, 4_000_000, pg_name="1")]
    send, receive = message(1, 1, 3, 2_000_000)  # over the same link to the spine
    _, alone = run(given, reduce, [], reduce, [], model="roce")
    _, single = run(given, [], [send], [], [receive], model="roce")
    _, both = run(given, reduce, [send], reduce, [receive], model="roce")
    assert both[0, 1][1] > alone[0, 1][1] + 0.9 * 2_000_000 / RATE
    assert both[1, 1][1] > 1.8 * single[1, 1][1]


def test_auto_takes_the_fastest_algorithm() -> None:
    topology = clos_file(SWITCH).build("switch")
    ends: dict[str, int] = {}
    for name in ("auto", "ring", "direct", "halving_doubling"):
        times, _ = run(_on(topology, name), *[[collective(1, 1000)]] * 4, model="roce")
        ends[name] = times[0].total_ns
    assert ends["auto"] <= min(ends.values())
    assert len({*ends.values()}) > 1


def test_a_buffer_smaller_than_its_headroom_is_refused() -> None:
    with pytest.raises(InputError, match=r"^buffer_mib: must be at least [0-9.]+ for headroom"):
        run(_switch(buffer_mib=0.01), *[[collective(1, 1000)]] * 4, model="roce")


def test_collectives_in_switches_are_refused() -> None:
    given = _on(parse_topology("fred-d"))
    with pytest.raises(InputError, match=r"for messages that join or fork in switches$"):
        run(given, *[[collective(1, 1000)]] * 20, model="roce")
