"""Planes whose links up carry less than a flit in a cycle, and whose chiplets have spare ports."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.program import compile_strategy
from fred_hw.wafer.spec import WaferSpec
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import phase_cycles
from testbench.collectives.plane import PlaneRun, build_plane, run_plane
from tests.testbench.collectives.planes import bare_wafer


def wafer(pace: int) -> WaferSpec:
    """Return two NPUs on two switches, of which links between carry a flit in so many cycles.

    The same ports of both have these links, so both are one model, of units that others have.
    """
    bare = bare_wafer().model_dump(include={"lanes", "protocol", "endpoint"})
    common = {"chiplets": 1, "ports": 4, "spare": 1}
    switches = [
        {"name": "l2", **common, "npus": [1]},
        {"name": "l1", **common, "npus": [0], "above": "l2", "uplinks": 2, "uplink_cycles": pace},
    ]
    return WaferSpec.model_validate({**bare, "npus": 2, "switches": switches})


@cache
def compiled(pace: int) -> Path:
    return build_compiled(wafer(pace), Sizes())


@cache
def as_generated(pace: int) -> Path:
    return build_plane(wafer(pace), Sizes())


def cycles(
    pace: int, how: str, flits: int, folder: Path, *, icarus: bool = False, faults: int = 0
) -> int:
    """Return how long an all-reduce of all NPUs takes; what comes out is checked."""
    spec, strategy = wafer(pace), Strategy.parse("MP1-DP2-PP1")
    made = compile_strategy(spec, strategy, 2 * flits, collectives=how)
    model, run = (as_generated(pace), run_plane) if icarus else (compiled(pace), run_joined)

    def simulate(one: PlaneRun) -> Finished:
        found = run(model, replace(one, faults=faults), folder)
        assert (found.faults > 0) == (faults > 0)
        return found

    return phase_cycles(made, made.phases[0], simulate).cycles


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
def test_a_link_carries_a_flit_in_so_many_cycles(tmp_path: Path) -> None:
    """And acks, one for each 16 flits here; rings wait for other things as well."""
    for pace in (2, 4):
        less, more = (cycles(pace, "in-network", flits, tmp_path) for flits in (192, 384))
        assert pace <= (more - less) / 192 <= pace * (1 + 2 / 16)
    times = [cycles(pace, "ring", 96, tmp_path) for pace in (2, 4)]
    assert times[0] < times[1]
    cycles(4, "in-network", 384, tmp_path, faults=2000)


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.long  # of links that take a flit in each cycle test_plane.py says so
@pytest.mark.xdist_group("wafer")
def test_what_is_generated_takes_as_long(tmp_path: Path) -> None:
    found = [cycles(2, "in-network", 16, tmp_path / str(one), icarus=one) for one in (False, True)]
    assert found[0] == found[1]
