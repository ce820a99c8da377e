"""Tests of perfmodel.collectives.memory_traffic."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.memory_traffic import Traffic, ace_traffic, core_traffic
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import build_schedule
from perfmodel.endpoint.closed_forms import ring_reads, sent_per_byte
from perfmodel.topology.block import Block
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import shared_topology
from tests.examples import examples

FABRICS = ("fred-c", "fred-d", "mesh:5x4", "torus:4x4")


def traffic(
    topology: Topology, pattern: str, algorithm: str, npu: int = 0, npus: int = 0
) -> tuple[Traffic, Traffic]:
    """Return what an NPU does by cores, and with ACE, for a vector of one byte."""
    group = range(npus or topology.npus)
    made = build_schedule(topology, pattern, [group], 1.0, algorithm)
    return core_traffic(made, topology.npus)[npu], ace_traffic(made, topology.npus)[npu]


def torus(*npus: int) -> BlocksTopology:
    blocks = [Block("ring", one, 25e9, 1e-7) for one in npus]
    return BlocksTopology(name="torus", blocks=blocks)


@pytest.mark.parametrize("npus", [2, 4, 8, 16])
def test_a_ring_reads_as_in_closed_form(npus: int) -> None:
    core, ace = traffic(shared_topology("fred-c"), "all_reduce", "ring", npus=npus)
    assert core.sent == core.received == core.written == pytest.approx(2 * (1 - 1 / npus))
    assert core.read / core.sent == pytest.approx(ring_reads(npus), rel=1e-12)
    assert (ace.read, ace.written) == (pytest.approx(1), pytest.approx(1))
    assert ace.sent / ace.read == pytest.approx(sent_per_byte((npus,)), rel=1e-12)


@pytest.mark.parametrize("sizes", [(4, 2, 2), (4, 4, 2), (4, 4, 4)])
def test_four_phases_send_as_in_closed_form(sizes: tuple[int, ...]) -> None:
    core, ace = traffic(torus(*sizes), "all_reduce", "four_phase")
    assert ace.sent / ace.read == pytest.approx(sent_per_byte(sizes), rel=1e-12)
    assert (ace.read, ace.written) == (pytest.approx(1), pytest.approx(1))
    # The closed form takes cores to read as in very large rings; the rule counts what they read.
    assert 1.29 < core.read / core.sent < 1.5


def test_hierarchical_collectives_send_no_more_than_a_ring() -> None:
    core, ace = traffic(torus(4, 4), "all_reduce", "hierarchical")
    assert core.sent == pytest.approx(2 * (1 - 1 / 16))
    assert core.read / core.sent == pytest.approx(ring_reads(16), rel=1e-12)
    assert ace.read == pytest.approx(1)


@pytest.mark.parametrize("of", [0, 1])
def test_a_reduction_in_the_network_reads_and_writes_each_byte_once(of: int) -> None:
    """Whoever runs it: switches leave an endpoint nothing to add."""
    one = traffic(shared_topology("fred-d"), "all_reduce", "in_network")[of]
    assert (one.sent, one.received, one.read, one.written) == (1, 1, 1, 1)


def test_patterns_by_hand() -> None:
    """On a ring of four: bytes of NPU 1, for vectors of four blocks of a quarter."""
    ring = torus(4)
    core, ace = traffic(ring, "reduce_scatter", "direct", npu=1)
    assert (core.sent, core.received) == (0.75, 0.75)
    assert (core.read, core.written) == (0.75 + 4 / 4, 0.75 + 1 / 4)
    assert (ace.read, ace.written) == (1, 0.25)
    core, ace = traffic(ring, "all_gather", "direct", npu=1)
    assert (core.read, core.written) == (0.75, 0.75)
    assert (ace.read, ace.written) == (0.25, 0.75)
    core, ace = traffic(ring, "all_to_all", "direct", npu=1)
    assert (core.read, core.written, ace.read, ace.written) == (0.75,) * 4
    core, ace = traffic(ring, "broadcast", "ring", npu=1)  # it passes all of it on
    assert (core.read, core.written, ace.read, ace.written) == (1, 1, 0, 1)
    core, ace = traffic(ring, "reduce", "ring", npu=0)
    assert (core.read, core.written, ace.read, ace.written) == (2, 2, 1, 1)


CASES = [
    (name, pattern, algorithm)
    for name, pattern in product(FABRICS, PATTERNS)
    for algorithm, one in ALGORITHMS.items()
    if pattern in one.patterns
    and not one.falls_back
    and one.fits(shared_topology(name), range(shared_topology(name).npus))
]


@pytest.mark.slow_after_first
@examples(40)
@given(case=st.sampled_from(CASES))
def test_ace_never_reads_or_writes_more_than_cores(case: tuple[str, str, str]) -> None:
    name, pattern, algorithm = case
    topology = shared_topology(name)
    made = build_schedule(topology, pattern, [range(topology.npus)], 1.0, algorithm)
    core, ace = core_traffic(made, topology.npus), ace_traffic(made, topology.npus)
    assert core.keys() == ace.keys()
    for npu, cores in core.items():
        engine = ace[npu]
        assert (cores.sent, cores.received) == (engine.sent, engine.received)
        assert engine.read <= cores.read + 1e-12 and engine.written <= cores.written + 1e-12
        assert cores.read >= cores.sent - 1e-12  # all that is sent is read
        assert engine.read <= 1 + 1e-12  # the vector has no more


def test_reads_are_those_that_chunk_by_chunk_bookkeeping_finds() -> None:
    """What is reduced or sent on is read once each: the same total, counted by receipts.

    Cores read all they receive to reduce it and their own part once, but for the terms of sums
    that are complete, and once what they send in the all-gather.
    """
    for name, algorithm in (("fred-c", "two_level_ring"), ("mesh:5x4", "hierarchical_2d")):
        topology = shared_topology(name)
        made = build_schedule(topology, "all_reduce", [range(20)], 1.0, algorithm)
        reduced = sum(
            one.payload_bytes for one in made.transfers if one.hops and one.action == "reduce"
        )
        copied = sum(
            one.payload_bytes for one in made.transfers if one.hops and one.action == "copy"
        )
        own, complete = 20.0, 1.0  # whole vectors: of each NPU, and of the sums
        want = reduced + (own - complete) - complete + copied
        found = sum(one.read for one in core_traffic(made, 20).values())
        assert found == pytest.approx(want, rel=1e-12)
