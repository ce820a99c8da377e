"""A mesh of compiled routers: nothing waits in a circle, and what links lose is sent again."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.routings.dateline import Dateline
from fred_hw.mesh.spec import MeshSpec
from testbench.faults.fault import Fault, FaultyEmitter, noticed_by
from testbench.stimulus.meshes import with_routing
from testbench.volume.conditions import FAULT_KINDS
from testbench.volume.loaded_mesh import LOADS, MeshLoad, build_mesh, run_mesh

MESH = MeshSpec(width=5, height=4, lanes=2)
FAULTS, UNSEEN = noticed_by("saturated mesh"), noticed_by("lossy mesh")
BREAKABLE = FaultyEmitter(FAULTS | UNSEEN)
ADAPTIVE = [name for name in ROUTINGS if ROUTINGS[name].chooses]
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("saturated_mesh")]


@cache
def program(routing: str) -> Path:
    """Return a mesh, that with "xy" with faults to choose from."""
    if routing == "xy":
        return build_mesh(MESH, BREAKABLE)
    return build_mesh(with_routing(MESH, routing))


def full(pattern: str) -> MeshLoad:
    """Return more than most patterns can take: queues on their ways are full."""
    return MeshLoad(load=1.0, pattern=pattern, warm=500, measure=1500)


@pytest.mark.parametrize("pattern", LOADS)
@pytest.mark.parametrize(
    "routing",
    ["xy", *(pytest.param(one, marks=pytest.mark.long) for one in ROUTINGS if one != "xy")],
)
def test_what_all_send_at_once_comes_through(routing: str, pattern: str) -> None:
    """Tornado, transpose, complement and a hot spot among them; `make bench` has 8 x 8."""
    found = run_mesh(program(routing), full(pattern))
    assert found["right"], found
    assert found["packets"] > 100


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_circle_that_closes_is_noticed(fault: Fault) -> None:
    load = replace(full("uniform"), plusargs=BREAKABLE.plusargs(fault))
    found = run_mesh(program("xy"), load)
    assert found[FAULTS[fault]]
    assert not found["right"]


class _OneChannel(Dateline):
    """A torus without a dateline."""

    def channel(self, channel: int, *, straight: bool, wraps: bool) -> int:
        return 0


@pytest.mark.long
def test_torus_without_a_dateline_waits_for_itself() -> None:
    with ROUTINGS.lending("no_dateline", _OneChannel()):
        found = run_mesh(build_mesh(with_routing(MESH, "no_dateline")), full("uniform"))
    assert found["wedged"]
    assert not found["right"]


@pytest.mark.long
def test_sources_leave_ways_that_are_blocked_and_lose_no_order() -> None:
    # Without faults each packet must come in order, the first time that it is sent.
    found = {one: run_mesh(program(one), full("transpose")) for one in ("xy", *ADAPTIVE)}
    for one in ADAPTIVE:
        assert found[one]["right"], found
        assert found[one]["left_routes"] > 20
        assert found[one]["accepted"] > 1.15 * found["xy"]["accepted"]
    assert found["xy"]["left_routes"] == 0


HIT = MeshLoad(load=0.4, faults_per_million=500, timeout_cycles=1024, measure=27_000)


@pytest.mark.parametrize(
    "routing", ["xy", *(pytest.param(one, marks=pytest.mark.long) for one in ADAPTIVE)]
)
def test_what_links_of_ends_and_of_routers_lose_is_sent_again(routing: str) -> None:
    found = run_mesh(program(routing), HIT)
    assert found["right"], found
    assert 8 * found["packets"] >= 200_000
    assert found["resent"] > 100
    for links in ("from_ends", "to_ends", "between"):
        assert all(found[f"faults_{links}"][kind] > 0 for kind in FAULT_KINDS)


@pytest.mark.parametrize("fault", UNSEEN, ids=lambda fault: fault.__name__)
def test_damage_that_routers_do_not_see_is_noticed(fault: Fault) -> None:
    found = run_mesh(program("xy"), replace(HIT, measure=5000, plusargs=BREAKABLE.plusargs(fault)))
    assert found[UNSEEN[fault]] > 0
    assert not found["right"]
