"""Tests of perfmodel.repurpose.traffic and of the latency that it is part of."""

from itertools import chain

import numpy as np
import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.transfer import Transfer
from perfmodel.repurpose.calibrated import calibrate
from perfmodel.repurpose.crossings import Multicast
from perfmodel.repurpose.latency import latency
from perfmodel.repurpose.network import INPUT, Network
from perfmodel.repurpose.operations import Function, Linear
from perfmodel.repurpose.restructure import METHODS, Options, restructure
from perfmodel.repurpose.traffic import TREES, joined, schedule_of, traffic_s
from tracemodel.astra.as_topology import load_fabric

FABRICS = ("fred-d", "mesh:5x4")


def casts(seed: int, workers: int = 8, count: int = 24) -> list[Multicast]:
    """Return multicasts of random sources to random targets."""
    rng = np.random.default_rng(seed)
    found: list[Multicast] = []
    for number in range(count):
        source = int(rng.integers(workers))
        others = [one for one in range(workers) if one != source]
        targets = rng.choice(others, size=rng.integers(1, workers), replace=False)
        found.append(
            Multicast(source, tuple(sorted(targets.tolist())), (number,), int(rng.integers(1, 9)))
        )
    return found


@pytest.mark.parametrize("most", [1, 2, 5, 100])
@pytest.mark.parametrize("seed", range(5))
def test_joined_multicasts_still_bring_every_channel_to_its_targets(seed: int, most: int) -> None:
    asked = casts(seed)
    made = joined(asked, most)
    for one in asked:
        (fits,) = [
            other
            for other in made
            if other.source == one.source and one.channels[0] in other.channels
        ]
        assert set(one.targets) <= set(fits.targets)
    assert sum(one.numbers for one in made) == sum(one.numbers for one in asked)
    for source in {one.source for one in asked}:
        assert sum(one.source == source for one in made) <= most
    assert most < 100 or {one.targets for one in made} == {one.targets for one in asked}


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("name", FABRICS)
def test_every_target_receives_every_number(name: str, trees: str) -> None:
    topology = load_fabric(name)
    asked = casts(1)
    schedule = schedule_of(topology, asked, 2.0, trees)
    holds: dict[int, set[int]] = {}
    for one in schedule.messages:
        assert isinstance(one, Transfer)
        for shard in one.shards:
            owner = next(part.owners[shard] for part in schedule.parts if shard in part.owners)
            assert one.sources == (owner,) or one.sources[0] in holds[shard]
            holds.setdefault(shard, set()).update(one.targets)
        links = [topology.links[link] for link, _ in one.hops]
        ends = {link.target for link in links} & set(range(topology.npus))
        assert set(one.targets) <= ends
    wanted = {(one.source, one.targets) for one in asked}
    assert len(holds) == len(asked)
    found = {
        (part.owners[shard], targets)
        for part in schedule.parts
        for shard in part.owners
        for targets in chain.from_iterable([[tuple(sorted(holds[shard]))]])
    }
    assert trees == "multitree" or found == wanted
    for source, targets in wanted:
        assert any(one == source and set(targets) <= set(all_of) for one, all_of in found)


@pytest.mark.parametrize("name", FABRICS)
def test_time_of_one_large_multicast_is_that_of_its_slowest_link(name: str) -> None:
    topology = load_fabric(name)
    numbers = 1 << 28
    found = traffic_s(topology, [Multicast(0, (1, 7, 19), (), numbers)], 2.0)
    hops = topology.hops((0,), (1, 7, 19))
    slowest = min(topology.capacities[link] for link, _ in hops)
    assert found.time_s == pytest.approx(2 * numbers / slowest, rel=0.01)
    assert (found.flows, found.sent_bytes) == (1, 2 * numbers)


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("name", FABRICS)
def test_no_link_is_faster_than_its_bandwidth(name: str, trees: str) -> None:
    topology = load_fabric(name)
    asked = [
        Multicast(one, tuple(other for other in range(20) if other != one), (), 1 << 20)
        for one in range(20)
    ]
    found = traffic_s(topology, asked, 2.0, trees)
    # Each NPU receives what 19 others send.
    arriving = [0.0] * 20
    for link in topology.links:
        if link.target < 20:
            arriving[link.target] += link.payload_bytes_per_s
    assert found.time_s >= 19 * 2 * (1 << 20) / max(arriving)


def test_nothing_that_crosses_takes_no_time() -> None:
    assert traffic_s(load_fabric("fred-d"), [], 2.0).time_s == 0
    assert traffic_s(load_fabric("fred-d"), [Multicast(0, (1,), (), 0)], 2.0).flows == 0


def test_too_few_npus_are_refused() -> None:
    with pytest.raises(InputError, match=r"^mesh:2x2: must have 5 or more NPUs for as many work"):
        traffic_s(load_fabric("mesh:2x2"), [Multicast(0, (4,), (), 1)], 2.0)


def test_latency_is_the_sum_of_traffic_and_of_the_slowest_worker() -> None:
    rng = np.random.default_rng(1)
    network = Network(
        "net",
        (
            Linear("fc0", (INPUT,), rng.normal(size=(1 << 10, 1 << 10))),
            Function("r0", ("fc0",), "relu"),
            Linear("fc1", ("r0",), rng.normal(size=(8, 1 << 10))),
        ),
    )
    topology = load_fabric("fred-d")
    options = Options(8, pins={"fc1": 0}, method=METHODS["contiguous"])
    made = restructure(calibrate(network, rng.normal(size=(4, 1 << 10))), options)
    found = latency(made, topology)
    assert [(one.name, one.kind) for one in found.steps] == [
        ("fc0", "traffic"),
        ("fc0", "compute"),
        ("fc1", "traffic"),
        ("fc1", "compute"),
    ]
    # Weights of a worker, its inputs and outputs in FP16, from a memory of 3 TB/s.
    assert found.steps[1].time_s == pytest.approx(2 * (128 * 1024 + 1024 + 128) / 3e12)
    assert found.steps[3].time_s == pytest.approx(2 * (8 * 1024 + 1024 + 8) / 3e12)
    assert found.steps[0].sent_bytes == 2 * 1024
    assert found.steps[2].sent_bytes == 2 * 7 * 128
    assert found.time_s == pytest.approx(sum(one.time_s for one in found.steps))
    assert 0 < found.traffic_s < found.time_s
