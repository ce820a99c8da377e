"""Tests of perfmodel.topology.joined_wafers."""

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.joined_wafers import joined_wafers
from perfmodel.topology.links import LinksTopology
from perfmodel.topology.parse import parse_topology

NICS = Clos(gpus_per_leaf=18, pods=(3,), widths=(9,), gbps=(1024.0, 1024.0), latency_us=(0.5, 1.0))


def _built() -> LinksTopology:
    return joined_wafers(clos_file(NICS), parse_topology("fred-d")).build("wafers")


def test_every_npu_and_controller_of_each_wafer_is_there() -> None:
    file = joined_wafers(clos_file(NICS), parse_topology("fred-d"))
    leaves_and_spines = 3 + 9
    assert file.npus == 3 * 20
    assert file.switches == leaves_and_spines + 3 * (6 + 18)
    assert len(file.links) == 3 * (20 + 5 + 18) + 3 * 18 + 3 * 9


def test_a_message_inside_a_wafer_takes_as_long_as_on_the_wafer() -> None:
    built, wafer = _built(), parse_topology("fred-d")
    for source, target in ((0, 1), (0, 19), (7, 13)):
        there = [(20 + one,) for one in (source, target)]
        hops, alone = built.hops(*there), wafer.hops((source,), (target,))
        assert len(hops) == len(alone)
        assert built.latency_s(hops) == pytest.approx(wafer.latency_s(alone))
        rates = [
            [one.capacities[link] for link, _ in way]
            for one, way in ((built, hops), (wafer, alone))
        ]
        assert rates[0] == pytest.approx(rates[1])


def test_a_message_to_another_wafer_leaves_and_enters_by_controllers() -> None:
    built = _built()
    names = [built.nodes[built.links[link].target].name for link, _ in built.hops((0,), (59,))]
    numbers = [int(one.split("_")[1]) for one in names]
    # L1 and controller of the first wafer, leaf, spine, leaf, controller and L1 of the third, NPU.
    assert [numbers[2], numbers[4], numbers[7]] == [0, 2, 59]
    assert 12 <= numbers[0] < 12 + 24 <= 12 + 48 <= numbers[6] < 12 + 72
    assert 3 <= numbers[3] < 12
    used = {built.hops((one,), (40 + other,))[2][0] for one in range(20) for other in range(20)}
    assert len(used) == 18  # all controllers


@pytest.mark.parametrize(
    ("wafer", "message"),
    [
        ("mesh:5x4", "must be a wafer with switches and I/O controllers, not mesh:5x4"),
        (
            "examples/fred-16.yaml",
            "must have the 16 I/O controllers of examples/fred-16.yaml for each wafer, and the \
network has 54 GPUs",
        ),
    ],
    ids=["mesh", "count"],
)
def test_wafers_that_do_not_fit_are_refused(wafer: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        joined_wafers(clos_file(NICS), parse_topology(wafer))
    assert str(caught.value) == f"wafer: {message}"
