"""Tests of the network model packet: what it simulates, and how much less a little more takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.experiments.packets import MORE, PATTERNS, endpoints, saved
from fred_hw.errors import InputError
from perfmodel.network.run import run_collectives
from perfmodel.topology.parse import shared_topology
from studies.rtl_mesh import load_mesh_cycles, mesh_topology
from tests.examples import examples

MESH = mesh_topology(load_mesh_cycles())
ROWS = [list(range(first, first + 4)) for first in range(0, 20, 4)]


@pytest.mark.parametrize(
    ("pattern", "algorithm", "says"),
    [
        ("all_gather", "ring", None),
        ("all_to_all", "direct", None),
        ("all_reduce", "halving_doubling", "this schedule has no packet simulation"),
    ],
)
def test_a_schedule_without_a_packet_simulation_says_so(
    pattern: str, algorithm: str, says: str | None
) -> None:
    found = run_collectives(
        MESH, pattern, 4096.0, ROWS, algorithm=algorithm, network_model="packet"
    )
    told = [one for one in found.provenance.assumptions if "packet" in one]
    assert (found.network_model, len(told)) == ("packet", 0 if says is None else 1)
    assert says is None or says in told[0]


def test_without_endpoints_it_is_fluid_and_says_so() -> None:
    times = [
        run_collectives(shared_topology("mesh:3x3"), "all_reduce", 1e6, [range(9)], 4, "ring", name)
        for name in ("fluid", "packet")
    ]
    assert times[0].time_s == times[1].time_s
    (more,) = {*times[1].provenance.assumptions} - {*times[0].provenance.assumptions}
    assert "endpoint_record" in more


def test_endpoints_send_a_vector_as_one_chunk() -> None:
    how = ("all_gather", 4096.0, ROWS)
    one, free = (run_collectives(MESH, *how, n, "ring", "packet").time_s for n in (1, None))
    assert one == free
    with pytest.raises(InputError) as caught:
        run_collectives(MESH, *how, 2, "ring", "packet")
    assert str(caught.value) == "chunks: must be 1 with network model packet on endpoints, not 2"


RINGS = 0.12
"""Share by which rings may take less where data grow a little, since messages meet otherwise.

Of the pairs that docs/experiments/packets.py draws, the largest share is 9.8 %."""


@pytest.mark.slow_after_first
@examples(60)
@given(
    pattern=st.sampled_from(PATTERNS),
    algorithm=st.sampled_from(["ring", "bidirectional_ring", "direct"]),
    members=st.permutations(range(6)),
    flits=st.integers(8, 800),
    more=st.sampled_from(MORE),
)
def test_more_data_take_little_less_if_they_do(
    pattern: str, algorithm: str, members: list[int], flits: int, more: int
) -> None:
    """Rings save little, and unicasts at most one wait for an ack that does not come."""
    mesh = endpoints()
    timing = mesh.endpoint
    assert timing is not None
    before_s, less_s = saved(mesh, pattern, algorithm, members, flits, more)
    waits_s = timing.record.spec.protocol.timeout_cycles * timing.cycle_s
    assert less_s <= (waits_s if algorithm == "direct" else RINGS * before_s)
