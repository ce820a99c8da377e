"""Tests of perfmodel.collectives.streaming: the published hot spot of the mesh, and line rate."""

import pytest

from perfmodel.collectives.streaming import STREAMS, build_stream
from perfmodel.network.run import profile
from perfmodel.topology.fred_file import FredFile, L1Entry
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology

SIZE = 2.0**30


def loads(topology: Topology, pattern: str, groups: list[list[int]]) -> dict[str, float]:
    found = profile(topology, pattern, SIZE, groups)[0]
    return {topology.link_name(link): carried for link, carried in found.loads}


@pytest.mark.parametrize("pattern", STREAMS)
@pytest.mark.parametrize("side", range(2, 9))
def test_worst_link_of_a_mesh_carries_2n_minus_1_channels(side: int, pattern: str) -> None:
    mesh = parse_topology(f"mesh:{side}x{side}", "ideal")
    found = loads(mesh, pattern, [list(range(side * side))])
    worst = max(carried for name, carried in found.items() if "io" not in name)
    assert worst / (SIZE / mesh.io_controllers) == pytest.approx(2 * side - 1)


@pytest.mark.parametrize(
    ("topology", "share"), [("mesh:5x4", 0.65), ("fred-c", 1.0), ("fred-d", 1.0)]
)
@pytest.mark.parametrize("pattern", STREAMS)
def test_share_of_line_rate(topology: str, share: float, pattern: str) -> None:
    wafer = parse_topology(topology, "ideal")
    time_s = profile(wafer, pattern, SIZE, [range(20)])[0].time_s
    assert SIZE / (18 * 128e9) / time_s == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize("topology", FABRICS)
def test_outward_loads_are_the_inward_ones_turned_round(topology: str) -> None:
    wafer = parse_topology(topology, "ideal")
    groups = [[k + 4 * dp for dp in range(5)] for k in range(4)]
    inwards, outwards = (loads(wafer, pattern, groups) for pattern in STREAMS)
    if "mesh" in topology or wafer.in_network:
        assert outwards == pytest.approx(
            {" -> ".join(reversed(name.split(" -> "))): load for name, load in inwards.items()}
        )
    from_io = sum(load for name, load in inwards.items() if name.startswith("io"))
    to_io = sum(load for name, load in outwards.items() if "-> io" in name)
    assert from_io == pytest.approx(len(groups) * SIZE)
    assert to_io == pytest.approx(len(groups) * SIZE)


@pytest.mark.parametrize("topology", FABRICS)
def test_every_npu_gets_all_of_its_group(topology: str) -> None:
    wafer = parse_topology(topology, "ideal")
    found = loads(wafer, "stream_in", [[0, 1, 2, 3, 7]])
    for npu in (0, 1, 2, 3, 7):
        arrived = sum(load for name, load in found.items() if name.endswith(f"-> npu_{npu}"))
        assert arrived >= SIZE * (1 - 1e-9)


WITHOUT_IO = FredFile(
    kind="fred",
    l1=[L1Entry(count=2, npus=2, io_controllers=0, record="l1-12")],
    l2_record="l2-10",
    l1_l2_bytes_per_s=1e12,
    in_network=True,
)


def test_wafer_without_io_controllers_is_refused() -> None:
    message = r"^small must have I/O controllers for streaming, not none$"
    with pytest.raises(ValueError, match=message):
        build_stream(WITHOUT_IO.build("small"), "stream_in", [[0, 1]], 1.0)
