"""Tests of perfmodel.network.roce.simulate: closed forms, fairness and invariants."""

from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.network.roce.parameters import SCHEMES, RoceFile
from perfmodel.network.roce.simulate import Found, Simulation, simulate
from perfmodel.network.roce.thresholds import headroom_bytes
from perfmodel.network.roce.workload import Workload
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.links import LinksTopology
from perfmodel.topology.parse import parse_topology
from studies.congestion import NETWORKS

_LATENCY_NS, _RATE = 500.0, 25.0
"""Of every link of ``_switch`` [ns], [B/ns]."""

_WIRE = 1048.0


def _switch(hosts: int) -> LinksTopology:
    return clos_file(Clos(gpus_per_leaf=hosts, latency_us=(0.5,))).build("switch")


def _work(topology: LinksTopology, flows: list[tuple[int, int, int]]) -> Workload:
    work = Workload()
    for source, target, size in flows:
        links = [link for link, _ in topology.hops((source,), (target,))]
        work.add(work.path_number(links), size)
    return work


def _run(topology: LinksTopology, flows: list[tuple[int, int, int]], **options: object) -> Found:
    """Simulate flows, each a source, a target and bytes."""
    return simulate(topology, _work(topology, flows), RoceFile.model_validate(options))


@pytest.mark.parametrize("packets", [1, 2, 1000])
def test_one_flow_takes_its_bytes_and_two_links(packets: int) -> None:
    found = _run(_switch(2), [(0, 1, 1000 * packets)], train_packets=1)
    want_ns = packets * _WIRE / _RATE + _WIRE / _RATE + 2 * _LATENCY_NS
    assert 1e9 * found.time_s == pytest.approx(want_ns)
    assert (found.packets, found.pauses, found.marks, found.drops) == (packets, 0, 0, 0)


@pytest.mark.parametrize("train", [1, 16])
def test_a_short_last_packet_is_short_on_the_wire(train: int) -> None:
    found = _run(_switch(2), [(0, 1, 1500)], train_packets=train)
    want_ns = (_WIRE + 548) / _RATE + 2 * _LATENCY_NS + 548 / _RATE
    # The second packet is stored in the switch while the first one leaves.
    assert 1e9 * found.time_s == pytest.approx(want_ns + (_WIRE - 548) / _RATE)


@pytest.mark.parametrize("rates", [(200, 100), (100, 100)])
@pytest.mark.parametrize("size", [1001, 2999, 3000])
def test_a_train_alone_takes_as_long_as_its_packets(size: int, rates: tuple[int, int]) -> None:
    clos = Clos(gpus_per_leaf=1, pods=(2,), widths=(1,), gbps=rates, latency_us=(1, 1))
    topology = clos_file(clos).build("clos")
    times = [_run(topology, [(0, 1, size)], train_packets=train).time_s for train in (1, 16)]
    assert times[1] == pytest.approx(times[0], rel=1e-12)


def test_hpcc_alone_settles_at_its_target_with_headers_of_telemetry() -> None:
    found = _run(_switch(2), [(0, 1, 20_000_000)], congestion_control="hpcc", train_packets=1)
    ideal_ns = 20_000 * (1000 + 48 + 42) / _RATE
    assert 1e9 * found.time_s == pytest.approx(ideal_ns / 0.95, rel=0.01)


@pytest.mark.parametrize("senders", [2, 4, 16, 64])
@pytest.mark.parametrize("train", [1, 16])
def test_incast_fills_the_last_link(senders: int, train: int) -> None:
    flows = [(one, 0, 100_000) for one in range(1, senders + 1)]
    found = _run(_switch(65), flows, train_packets=train)
    want_ns = senders * 100 * _WIRE / _RATE + _WIRE / _RATE + 2 * _LATENCY_NS
    assert 1e9 * found.time_s == pytest.approx(want_ns, rel=1e-9)
    assert found.drops == 0


_EARLY: dict[str, object] = {
    "train_packets": 1,
    "ecn": [{"gbps": 200, "kmin_kb": 10, "kmax_kb": 40}],
    "timely": {"t_low_us": 3, "t_high_us": 10, "min_rtt_us": 2},
}
"""Thresholds at which two flows on a link of ``_switch`` make every controller change the rate."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_flows_on_a_link_get_fair_shares(scheme: str) -> None:
    flows = [(1, 0, 5_000_000), (2, 0, 5_000_000)]
    found = _run(_switch(3), flows, congestion_control=scheme, **_EARLY)
    first, second = sorted(found.end_s)
    assert first / second > 0.9
    assert found.marks > 0
    assert (found.marks > 5_000) == (scheme == "pfc")  # each controller keeps the queue short


@pytest.mark.parametrize(
    ("scheme", "fair", "used"),
    [
        ("pfc", 0.99, 0.95),
        ("dcqcn", 0.95, 0.48),
        ("dctcp", 0.9, 0.95),
        ("timely", 0.55, 0.91),
        ("hpcc", 0.75, 0.87),
        ("hpcc-pint", 0.9, 0.9),
    ],
)
def test_a_later_flow_converges_to_a_fair_share(scheme: str, fair: float, used: float) -> None:
    """Compare what two flows send while both last, from 0.2 ms after the second one begins.

    DCQCN halves both rates, and its timer of 0.9 ms is the first to raise them. TIMELY has no
    unique fixed point. docs/explanation/congestion-control.md states both.
    """
    topology = _switch(3)
    first, second = (next(link for link, _ in topology.hops((one,), (0,))) for one in (1, 2))
    options = RoceFile.model_validate({"congestion_control": scheme, **_EARLY})
    running = Simulation(topology, options)
    running.add(_work(topology, [(1, 0, 30_000_000)]))
    assert running.advance(100e3) is None
    running.add(_work(topology, [(2, 0, 20_000_000)]), 100e3)
    assert running.advance(300e3) is None
    before = running.found().carried
    assert running.advance(900e3) is None
    after = running.found()
    shares = [(after.carried[one] - before[one]) / (600e3 * _RATE) for one in (first, second)]
    assert min(shares) >= fair * max(shares)
    assert sum(shares) == pytest.approx(used, abs=0.03)
    assert after.marks > 0
    assert (after.marks > 5_000) == (scheme == "pfc")  # each controller keeps the queue short
    assert (after.end_s <= 0).all()


def test_schemes_differ_in_an_incast() -> None:
    leaf = Clos(gpus_per_leaf=16, pods=(2,), widths=(2,), gbps=(200, 200), latency_us=(1, 1))
    flows = [(one, 0, 2_000_000) for one in range(1, 32)]
    topology = clos_file(leaf).build("clos")
    found = {
        scheme: _run(topology, flows, congestion_control=scheme, buffer_mib=8) for scheme in SCHEMES
    }
    pauses = {scheme: one.pauses for scheme, one in found.items()}
    assert all(one.drops == 0 for one in found.values())
    assert pauses["pfc"] > 20
    assert pauses["dcqcn"] < 0.7 * pauses["pfc"]
    assert pauses["hpcc"] < 0.3 * pauses["pfc"]
    longest = {scheme: one.queue_bytes["p90"] for scheme, one in found.items()}
    assert longest["hpcc"] < 0.5 * longest["pfc"]


def _shallow(
    flows: list[tuple[int, int, int]], scheme: str, train: int, spare_bytes: float, late_us: float
) -> Found:
    """Simulate flows with PFC in buffers that have little space beyond headroom and reserves."""
    clos = Clos(gpus_per_leaf=4, pods=(2,), widths=(2,), gbps=(200, 100), latency_us=(late_us,) * 2)
    options = RoceFile(congestion_control=scheme, train_packets=train)
    packet_bytes = options.packet_bytes + options.overhead_bytes
    down, up = (
        options.reserve_bytes + headroom_bytes(rate, 1e3 * late_us, 3, packet_bytes)
        for rate in (25.0, 12.5)
    )
    return _run(
        clos_file(clos).build("clos"),
        flows,
        congestion_control=scheme,
        train_packets=train,
        buffer_mib=(4 * down + 2 * up + spare_bytes) / 2**20,
    )


_FLOW = st.tuples(st.integers(0, 7), st.integers(0, 1), st.integers(1, 1_000_000))


@given(
    flows=st.lists(_FLOW.filter(lambda one: one[0] != one[1]), min_size=1, max_size=20),
    scheme=st.sampled_from(SCHEMES),
    train=st.sampled_from([1, 16]),
    spare_bytes=st.floats(1e3, 2e5),
    late_us=st.floats(0.001, 5),
)
@example([(one, 0, 300_000) for one in range(1, 8)], "pfc", 1, 1e4, 1.0)
def test_nothing_is_ever_dropped_with_pauses(
    flows: list[tuple[int, int, int]], scheme: str, train: int, spare_bytes: float, late_us: float
) -> None:
    found = _shallow(flows, scheme, train, spare_bytes, late_us)
    assert found.drops == 0
    assert found.resent_bytes == 0
    assert (found.end_s > found.begin_s).all()


_OVERSUBSCRIBED = clos_file(
    Clos(gpus_per_leaf=4, pods=(2,), widths=(2,), gbps=(200, 100), latency_us=(1, 1))
).build("clos")


@given(
    flows=st.lists(_FLOW.filter(lambda one: one[0] != one[1]), min_size=1, max_size=12),
    scheme=st.sampled_from(["pfc", "dctcp", "hpcc", "hpcc-pint"]),
    factor=st.sampled_from([1.001, 1.02, 1.2, 2.0]),
)
def test_more_bytes_take_at_most_8_percent_less_time(
    flows: list[tuple[int, int, int]], scheme: str, factor: float
) -> None:
    """A longer message can be marked earlier, and its sender then slows down before others wait.

    With trains of packets, DCQCN or TIMELY the time can fall by far more, as
    docs/experiments/trains.py measures.
    """
    more = [(source, target, int(factor * size) + 1) for source, target, size in flows]
    before_s, after_s = (
        _run(_OVERSUBSCRIBED, one, congestion_control=scheme, train_packets=1).time_s
        for one in (flows, more)
    )
    assert after_s >= 0.92 * before_s


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("late_us", [0.01, 1.0])
def test_an_incast_in_shallow_buffers_pauses_links(scheme: str, late_us: float) -> None:
    flows = [(one, 0, 300_000) for one in range(1, 8)]
    assert _shallow(flows, scheme, 1, 1e4, late_us).pauses > 0


@pytest.mark.parametrize("scheme", ["pfc", "hpcc", "dcqcn"])
@pytest.mark.parametrize("options", [{"error_rate": 0.01}, {"pfc": False, "buffer_mib": 0.1}])
def test_what_is_lost_is_sent_again(scheme: str, options: dict[str, object]) -> None:
    flows = [(one, 0, 1_000_000) for one in range(1, 8)]
    found = _run(_switch(8), flows, congestion_control=scheme, **options)
    assert (found.end_s > 0).all()
    assert found.drops > 0
    assert found.resent_bytes > 0


@pytest.mark.parametrize(
    "options", [{"error_rate": 0.5}, {"pfc": False, "reserve_bytes": 1048, "buffer_mib": 0.01}]
)
def test_messages_arrive_however_many_packets_are_lost(options: dict[str, object]) -> None:
    found = _run(_switch(3), [(1, 0, 20_000), (2, 0, 20_000)], timeout_us=10, **options)
    assert (found.end_s > 0).all()
    assert found.drops > 10


@pytest.mark.parametrize("error_rate", [0.0, 0.001])
def test_links_that_wait_for_each_other_are_refused(error_rate: float, tmp_path: Path) -> None:
    """Four hosts send half around a ring of four switches with shallow buffers."""
    hosts = [f"{one} {4 + one} 200Gbps 1us 0" for one in range(4)]
    ring = [f"{4 + one} {4 + (one + 1) % 4} 100Gbps 1us 0" for one in range(4)]
    net = tmp_path / "ring.txt"
    net.write_text("\n".join(["8 4 8", "4 5 6 7", *hosts, *ring]) + "\n")
    topology = parse_topology(str(net))
    link = {(one.source, one.target): i for i, one in enumerate(topology.links)}
    work = Workload()
    for one in range(4):
        nodes = [one, *(4 + (one + step) % 4 for step in range(3)), (one + 2) % 4]
        work.add(work.path_number(link[pair] for pair in pairwise(nodes)), 3_000_000)
    options = RoceFile(buffer_mib=0.12, headroom_factor=2, window=False, error_rate=error_rate)
    with pytest.raises(InputError, match=r"links: must not deadlock, as it does at "):
        simulate(topology, work, options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reserve_bytes": 0, "buffer_mib": 0.005}, "buffer_mib: .*1048 bytes, not 0.005"),
        (
            {"reserve_bytes": 40, "dynamic_threshold": False, "threshold_kb": 1},
            "threshold_kb: .*1048 bytes, not 1",
        ),
    ],
    ids=["buffer", "threshold"],
)
def test_a_port_without_space_for_a_packet_is_refused(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _run(_switch(3), [(1, 0, 1000)], pfc=False, **options)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_trains_agree_with_single_packets(scheme: str) -> None:
    clos = Clos(gpus_per_leaf=4, pods=(2,), widths=(2,), gbps=(200, 200), latency_us=(5, 5))
    topology = clos_file(clos).build("clos")
    flows = [(i, j, 200_000) for i in range(8) for j in range(8) if i != j]
    exact, fast = (
        _run(topology, flows, congestion_control=scheme, train_packets=train) for train in (1, 16)
    )
    assert fast.time_s == pytest.approx(exact.time_s, rel=0.05)
    assert fast.events < exact.events / 5
    assert fast.packets == exact.packets


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_trains_agree_on_an_oversubscribed_clos_unless_stated(scheme: str) -> None:
    pytest.importorskip("numba")
    topology = clos_file(NETWORKS["Clos 2:1"]).build("clos")
    flows = [(i, j, 250_000) for i, j in permutations(range(topology.npus), 2)]
    exact, fast = (
        _run(topology, flows, congestion_control=scheme, train_packets=train) for train in (1, 16)
    )
    stated = RoceFile(congestion_control=scheme, train_packets=16).assumptions[-1]
    wrong = abs(fast.time_s / exact.time_s - 1)
    assert fast.marks > 1000
    assert wrong > 0.5 if "can be wrong by factors" in stated else wrong < 0.02


@pytest.mark.parametrize("scheme", SCHEMES)
def test_only_schemes_that_trains_leave_unchanged_have_trains_by_default(scheme: str) -> None:
    flows = [(1, 0, 500_000), (2, 0, 500_000)]
    unset, exact, fast = (
        _run(_switch(3), flows, congestion_control=scheme, **given).events
        for given in ({}, {"train_packets": 1}, {"train_packets": 16})
    )
    assert unset == (exact if scheme in ("dcqcn", "timely") else fast)
    assert fast < exact


def test_a_message_waits_for_others() -> None:
    topology, work = _switch(3), Workload()
    there, back = (
        work.path_number(link for link, _ in topology.hops((a,), (b,))) for a, b in ((0, 1), (1, 2))
    )
    first = work.add(there, 1000)
    work.add(back, 1000, [work.add(there, 0, [first])])
    found = simulate(topology, work, RoceFile())
    one_ns = 2 * _WIRE / _RATE + 2 * _LATENCY_NS
    assert found.end_s.tolist() == pytest.approx([1e-9 * one_ns, 1e-9 * one_ns, 2e-9 * one_ns])


def test_messages_that_are_added_later_are_simulated_as_if_they_had_waited() -> None:
    topology = _switch(4)
    options = RoceFile(congestion_control="dcqcn", train_packets=4)
    together, running = Workload(), Simulation(topology, options)
    flows = [(1, 0, 3_000_000), (2, 0, 3_000_000)]
    paths = [[link for link, _ in topology.hops((a,), (b,))] for a, b, _ in [*flows, (0, 3, 1)]]
    for links in paths[:2]:
        together.add(together.path_number(links), 3_000_000)
    together.add(together.path_number(paths[2]), 500_000, [0])
    want = simulate(topology, together, options)
    running.add(_work(topology, flows), 0.0, [0])
    assert running.advance() == 0
    now_ns = running.end_ns(0)
    number = running.add(_work(topology, [(0, 3, 500_000)]), now_ns, [0])
    assert running.advance() == number == 2
    while running.advance() is not None:
        pass
    assert running.found().end_s.tolist() == want.end_s.tolist()
    assert running.found().events == want.events


def test_a_simulation_stops_at_a_time_and_goes_on() -> None:
    topology, options = _switch(3), RoceFile()
    running = Simulation(topology, options)
    running.add(_work(topology, [(1, 0, 1_000_000), (2, 0, 1_000_000)]), watched=[0, 1])
    for until_ns in range(0, 200_000, 1_000):
        while (one := running.advance(until_ns)) is not None:
            assert until_ns - 1_000 < running.end_ns(one) <= until_ns
    want = _run(topology, [(1, 0, 1_000_000), (2, 0, 1_000_000)])
    assert running.found().end_s.tolist() == want.end_s.tolist()
