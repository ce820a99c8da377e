"""Contract of fred_hw.mesh.mesh, cycle by cycle; testbench has the rest."""

from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.mesh.mesh import Mesh
from fred_hw.mesh.router import HOP_CYCLES
from tests.fred_hw.mesh.links import greeting, on_axis, packet, shown_data
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import MESH

ROW = MESH.with_changes(width=2, height=1, controllers=False)
SETUP = [*greeting([0, 1], ROW), *[{}] * 60]
READY = {"m0_axis_tready": 1, "m1_axis_tready": 1}
OUT = [f"m1_axis_t{name}" for name in ("valid", "data", "user")]


def seen(cycles: Sequence[dict[str, int]], watch: Sequence[str]) -> list[Any]:
    """Return what the smallest mesh shows once its links are up."""
    inputs = [READY | one for one in [*SETUP, *cycles, *[{}] * 30]]
    return trace(Mesh(mesh=ROW), inputs, watch)[len(SETUP) :]


def test_latency_is_that_of_each_router_and_throughput_a_flit_per_cycle() -> None:
    flits = [f for k in range(3) for f in packet(4, 1, ticket=4 * k, sequence=k)]
    found = shown_data(seen(on_axis(0, flits), OUT))
    assert found == [(2 * HOP_CYCLES + k, k % 4 + 1) for k in range(12)]


def test_latency_of_an_error_is_two_cycles_behind_the_flit_that_is_checked() -> None:
    found = seen(on_axis(0, packet(1, 9)), ["errors", "dropped"])
    assert [k for k, one in enumerate(found) if any(one)] == [3]


def test_reset_begins_all_links_anew_and_forgets_all_packets() -> None:
    found = seen([*on_axis(0, packet(4, 1)), {"rst": 1}, {}, *SETUP], ["up", "inner_up"])
    assert (found[0], found[5], found[-1]) == ((3, 1), (0, 0), (3, 1))
    again = seen([*on_axis(0, packet(4, 1)), {"rst": 1}, {}, *SETUP], OUT)
    assert shown_data(again) == []


def test_what_is_no_specification_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Mesh mesh must be a MeshSpec, not '5x4'$"):
        Mesh(mesh="5x4")
