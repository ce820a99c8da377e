"""A mesh at saturation in compiled routers: nothing is lost, and nothing waits in a circle."""

from functools import cache
from pathlib import Path

import pytest

from fred_hw.mesh.spec import MeshSpec
from testbench.faults.fault import Fault, FaultyEmitter, noticed_by
from testbench.volume.mesh import LOADS, MeshLoad, build_mesh, run_mesh

MESH = MeshSpec(width=5, height=4, lanes=2)
FAULTS = noticed_by("saturated mesh")
BREAKABLE = FaultyEmitter(FAULTS)
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("saturated_mesh")]


@cache
def program(routing: str) -> Path:
    """Return a mesh, that with "xy" with faults to choose from."""
    if routing == "xy":
        return build_mesh(MESH, BREAKABLE)
    return build_mesh(MESH.with_changes(routing=routing))


def full(pattern: str) -> MeshLoad:
    """Return more than most patterns can take: queues on their ways are full."""
    return MeshLoad(load=1.0, pattern=pattern, warm=500, measure=1500)


@pytest.mark.parametrize("pattern", LOADS)
@pytest.mark.parametrize("routing", ["xy", pytest.param("odd_even", marks=pytest.mark.long)])
def test_what_all_send_at_once_comes_through(routing: str, pattern: str) -> None:
    """Tornado, transpose, complement and a hot spot among them; `make bench` has 8 x 8."""
    found = run_mesh(program(routing), full(pattern))
    assert found["right"], found
    assert found["packets"] > 100


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_circle_that_closes_is_noticed(fault: Fault) -> None:
    found = run_mesh(program("xy"), full("uniform"), BREAKABLE.plusargs(fault))
    assert found[FAULTS[fault]]
    assert not found["right"]
