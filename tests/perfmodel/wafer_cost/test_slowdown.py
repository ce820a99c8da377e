"""The slowdown of a plane with a broken chiplet, by the simulated wafer model."""

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.faults import FaultyPlane, outcomes
from fred_hw.wafer.phase import switched_phases
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.rounds import Round
from perfmodel.network.packet.rounds import Told, rounds_s
from studies.rtl_plane import load_plane_cycles, plane_topology

STRATEGY = Strategy.parse("MP2-DP5-PP2")


@pytest.mark.parametrize(("flits", "slowdown"), [(64, 3.567), (8192, 2.061)])
def test_two_rounds_and_their_tokens_take_twice_the_time_of_long_vectors(
    flits: int, slowdown: float
) -> None:
    record = load_plane_cycles()
    topology = plane_topology(record, in_network=True)
    (fault, *_) = [one for one in outcomes(record.spec, STRATEGY) if one.fault.kind == "L2 chiplet"]
    assert fault.slowdown == 2

    def time_s(plane: Plane) -> float:
        phases = switched_phases(plane, STRATEGY)
        (switched,) = [one.switched for one in phases if one.name == "dp_all_reduce"]

        def told(rounds: tuple[Round, ...]) -> list[Told]:
            return [Told(flow.inputs, flow.outputs) for one in rounds for flow in one.flows]

        groups = [list(flow.inputs) for one in switched.rounds for flow in one.flows]
        size = flits * record.spec.link.data_width / 8
        tokens = told(switched.tokens), told(switched.ends)
        return rounds_s(topology, "all_reduce", size, groups, *tokens)

    whole = time_s(Plane(record.spec))
    assert whole > flits * 0.853e-9  # a flit per cycle
    ratio = time_s(FaultyPlane(record.spec, [fault.fault])) / whole
    assert ratio == pytest.approx(slowdown, abs=0.001)
