"""Times worked by hand of the message engine: 1 MB takes 1 ms, a link has 1 us latency."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.transfer import Transfer
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshTopology
from perfmodel.topology.parse import parse_topology
from tests.examples import examples
from tests.perfmodel.reference.engine import simulate
from tests.perfmodel.reference.plan import Batch

RATE, WIRE_S = 1e9, 1e-6
MEGA, MILLI = 1e6, 1e-3


def mesh(columns: int, rows: int = 1, wire_s: float = WIRE_S) -> MeshTopology:
    return MeshTopology(
        name="test",
        columns=columns,
        rows=rows,
        link_bytes_per_s=RATE,
        io_bytes_per_s=RATE / 4,
        link_latency_s=wire_s,
    )


def send(
    topology: Topology,
    sources: int | tuple[int, ...],
    targets: int | tuple[int, ...],
    payload_bytes: float = MEGA,
    after: tuple[int, ...] = (),
) -> Transfer:
    sources = sources if isinstance(sources, tuple) else (sources,)
    targets = targets if isinstance(targets, tuple) else (targets,)
    hops = topology.hops(sources, targets)
    return Transfer(sources, targets, hops, payload_bytes, after)


def times(topology: Topology, *transfers: Transfer) -> list[float]:
    result = simulate(topology, [Batch(transfers)])
    return [result.completion_s(0, 0, number) for number in range(len(transfers))]


HOP_S = MILLI + WIRE_S
TIMES: dict[str, tuple[int, list[tuple[Any, ...]], list[float]]] = {
    "a message takes its length and the latency of each link": (4, [(0, 3)], [HOP_S + 2 * WIRE_S]),
    "an empty message takes only latency": (4, [(0, 3, 0.0)], [3 * WIRE_S]),
    "a second message waits for the link": (2, [(0, 1), (0, 1)], [HOP_S, HOP_S + MILLI]),
    "directions do not disturb each other": (2, [(0, 1), (1, 0)], [HOP_S] * 2),
    "a transfer waits for those before it": (
        3,
        [(0, 1), (1, 2, MEGA, (0,))],
        [HOP_S, 2 * HOP_S],
    ),
    "a source waits only for what it receives itself": (
        3,
        [(0, (1, 2)), (1, 0, MEGA, (0,))],
        [HOP_S + WIRE_S, 2 * HOP_S],
    ),
    "a source that receives nothing waits for all targets": (
        4,
        [(0, (1, 2)), (3, 2, MEGA, (0,))],
        [HOP_S + WIRE_S, 2 * HOP_S + WIRE_S],
    ),
}
"""Columns of a mesh, what is sent on it, and when each of it has come."""


@pytest.mark.parametrize("what", TIMES)
def test_times(what: str) -> None:
    columns, sends, expected = TIMES[what]
    wafer = mesh(columns)
    assert times(wafer, *(send(wafer, *one) for one in sends)) == pytest.approx(expected)


def test_slow_link_sets_the_pace_of_those_behind_it_and_leaves_them_room() -> None:
    wafer = mesh(2)
    io = wafer.node_index["io_0"]
    path = (wafer.link_index[io, 0], ()), (wafer.link_index[0, 1], (0,))
    result = simulate(wafer, [Batch((Transfer((io,), (1,), path, MEGA),))])
    assert result.finish_s[0] == pytest.approx(4 * MILLI + 2 * WIRE_S)
    assert result.link_busy_s[wafer.link_index[0, 1]] == pytest.approx(MILLI)


def test_slow_link_at_the_end_sets_the_time() -> None:
    wafer = mesh(2)
    io = wafer.node_index["io_0"]
    path = (wafer.link_index[1, 0], ()), (wafer.link_index[0, io], (0,))
    result = simulate(wafer, [Batch((Transfer((1,), (io,), path, MEGA),))])
    assert result.finish_s[0] == pytest.approx(4 * MILLI + 2 * WIRE_S)


def test_earlier_chunk_goes_first() -> None:
    wafer = mesh(2)
    there_and_again = (
        send(wafer, 0, 1),
        send(wafer, 1, 0, after=(0,)),
        send(wafer, 0, 1, after=(1,)),
    )
    result = simulate(wafer, [Batch(there_and_again, chunks=4)])
    # Chunk 0 is back at 2 ms and 2 us, when the third chunk has just begun; the fourth waits.
    assert result.completion_s(0, 0, 2) == pytest.approx(4 * MILLI + WIRE_S)
    assert result.completion_s(0, 3, 0) > 5 * MILLI


def test_lower_priority_number_goes_first() -> None:
    wafer = mesh(2)
    low = Batch((send(wafer, 0, 1), send(wafer, 0, 1)), priority=1)
    high = Batch((send(wafer, 0, 1),), priority=0, start_s=MILLI / 2)
    result = simulate(wafer, [low, high])
    assert result.finish_s == pytest.approx((3 * MILLI + WIRE_S, 2 * MILLI + WIRE_S))


def test_batch_starts_when_told() -> None:
    wafer = mesh(2)
    result = simulate(wafer, [Batch((send(wafer, 0, 1),), start_s=1.0)])
    assert result.finish_s == pytest.approx((1 + MILLI + WIRE_S,))


def test_empty_batch_ends_when_it_starts() -> None:
    assert simulate(mesh(2), [Batch((), start_s=2.0)]).finish_s == (2.0,)


def test_join_waits_for_the_last_branch_and_fork_serves_all() -> None:
    fred = parse_topology("fred-d", "ideal")
    first = send(fred, 1, 2, 3e6)  # keeps npu_1 busy for 1 us
    joined = send(fred, (0, 1), (2, 3), 3e3)  # 1 ns
    found = times(fred, first, joined)
    hop = fred.nodes[fred.node_index["l1_0"]].latency_s
    assert found[0] == pytest.approx(1e-6 + 40e-9 + hop)
    assert found[1] == pytest.approx(1e-6 + 40e-9 + hop + 1e-9)


def test_flows_that_share_a_fast_link_all_run_at_the_rate_of_their_slow_ones() -> None:
    fred = parse_topology("fred-d", "ideal")
    result = simulate(fred, [Batch(tuple(send(fred, i, 4 + i, 3e6) for i in range(4)), chunks=50)])
    # Four NPUs of 3 TB/s fill an uplink of 12 TB/s: 50 us, and less than two chunks to fill.
    assert 50e-6 < result.finish_s[0] < 52e-6


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"after": (0,)}, "transfer 0 must come after what it waits for"),
        ({"targets": (2,)}, "transfer 0 must reach all of its targets"),
        ({"sources": (1,)}, "transfer 0 must leave all its sources, with 0 or more bytes"),
        ({"hops": ()}, "transfer 0 must leave all its sources, with 0 or more bytes"),
        ({"payload_bytes": -1.0}, "transfer 0 must leave all its sources, with 0 or more bytes"),
        ({"hops": ((0, ()), (0, (0,)))}, "transfer 0 must cross links that meet"),
    ],
)
def test_malformed_transfer_is_refused(fields: dict[str, Any], message: str) -> None:
    wafer = mesh(3)
    good: dict[str, Any] = {
        "sources": (0,),
        "targets": (1,),
        "hops": wafer.hops((0,), (1,)),
        "payload_bytes": 1.0,
    }
    with pytest.raises(ValueError, match=rf"^{message}$"):
        simulate(wafer, [Batch((Transfer(**good | fields),))])


@pytest.mark.parametrize("fields", [{"chunks": 0}, {"start_s": -1.0}])
def test_malformed_batch_is_refused(fields: dict[str, Any]) -> None:
    message = r"^a batch must have 1 or more chunks and start at 0 or later$"
    with pytest.raises(ValueError, match=message):
        simulate(mesh(2), [Batch((), **fields)])


def random_transfers(wafer: MeshTopology, seed: int, scale: float) -> tuple[Transfer, ...]:
    rng = random.Random(seed)
    transfers: list[Transfer] = []
    for number in range(30):
        source, target = rng.sample(range(wafer.npus), 2)
        after = tuple(sorted(rng.sample(range(number), min(number, rng.randrange(3)))))
        transfers.append(send(wafer, source, target, scale * rng.randint(1, 1000), after))
    return tuple(transfers)


@examples(40)
@given(seed=st.integers(0, 2**32), chunks=st.integers(1, 4))
def test_bytes_are_conserved_and_bounds_hold(seed: int, chunks: int) -> None:
    wafer = mesh(4, 3)
    transfers = random_transfers(wafer, seed, 1000.0)
    result = simulate(wafer, [Batch(transfers, chunks)])
    assert result.messages == chunks * sum(len(t.hops) for t in transfers)
    assert sum(result.link_bytes) == pytest.approx(
        chunks * sum(len(t.hops) * t.payload_bytes for t in transfers)
    )
    for link, carried, busy_s in zip(
        wafer.links, result.link_bytes, result.link_busy_s, strict=True
    ):
        assert busy_s == pytest.approx(carried / link.bytes_per_s)
        assert busy_s <= result.finish_s[0]
    for chunk in range(chunks):
        for number, transfer in enumerate(transfers):
            ready_s = max(
                (result.completion_s(0, chunk, before) for before in transfer.after), default=0.0
            )
            least_s = transfer.payload_bytes / RATE + len(transfer.hops) * WIRE_S
            assert result.completion_s(0, chunk, number) >= (ready_s + least_s) * (1 - 1e-9)


@examples(20)
@given(seed=st.integers(0, 2**32))
def test_without_latency_time_is_proportional_to_size(seed: int) -> None:
    wafer = mesh(4, 3, wire_s=0.0)
    once, twice = (
        simulate(wafer, [Batch(random_transfers(wafer, seed, scale), 2)]).finish_s[0]
        for scale in (1000.0, 2000.0)
    )
    assert twice == pytest.approx(2 * once)


def test_same_input_gives_the_same_result() -> None:
    wafer = mesh(4, 3)
    batch = Batch(random_transfers(wafer, 1, 1000.0), 3)
    assert simulate(wafer, [batch]) == simulate(wafer, [batch])
