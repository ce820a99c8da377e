"""Timing record of the routers of a mesh, measured by co-simulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.mesh.spec import MeshSpec
from gen.clock import ROUTER_CLOCK_HZ, ROUTER_CLOCK_SOURCE
from testbench.characterize import agreed, link_use, runs_of
from testbench.cosimulation.cosimulate_mesh import cosimulate_mesh
from testbench.cosimulation.launch import Options
from testbench.designs import MeasuredDesign, mesh_design
from testbench.measurement import Say, SpecMeasurement

__all__ = ["MESH_TESTS", "RouterMeasurement"]

MESH_TESTS = (
    "lone_flit_takes_as_long_at_every_router",
    "flit_that_follows_another_one_takes_as_long_at_every_router",
    "urgent_packet_waits_for_the_end_of_one_packet_at_most",
    "ack_takes_as_long_at_every_router",
    "links_carry_data_at_full_load",
)


@dataclass(frozen=True, kw_only=True)
class RouterMeasurement(SpecMeasurement[MeshSpec]):
    """The routers of a mesh. The clock follows from the published link rate.

    Two routers with all five ports are simulated. Routers are equal but for where they stand, so
    cycle counts do not depend on the mesh; tests/testbench/test_characterize_mesh.py shows it.
    """

    SCHEMA = "fred-mesh-timing/2"

    @property
    def measured_spec(self) -> MeshSpec:
        return super().measured_spec.with_changes(width=2, height=1, controllers=True)

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": mesh_design(self.measured_spec)}

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        runs = runs_of(self, cosimulate_mesh, work, Options(tests=MESH_TESTS))
        return {
            "router": agreed(runs, lambda one: _router(one, self.spec)),
            "flits_checked": sum(run.measurements["flits_checked"] for run in runs),
            "clock": {"hz": ROUTER_CLOCK_HZ, "source": ROUTER_CLOCK_SOURCE},
        }


def _router(measured: Mapping[str, Any], mesh: MeshSpec) -> dict[str, Any]:
    """Return the measurements of a router, with shares for flits of full size."""
    return {
        "latency_cycles": measured["router_latency_cycles"],
        "follow_cycles": measured["router_follow_cycles"],
        "preemption_cycles": measured["router_preemption_cycles"],
        "message_cycles": measured["router_message_cycles"],
        **link_use(measured["efficiency"], mesh.link.data_width),
    }
