"""A fabric with endpoints as compiled code: a wafer plane, or a mesh.

It does what ``plane.py`` and ``mesh.py`` do in Icarus, for fabrics that are too large for that.
Links of controllers that lack endpoints are left out.
"""

from pathlib import Path

from fred_hw.mesh.spec import MeshSpec
from fred_hw.wafer.spec import WaferSpec
from gen.fabric_units import fabric_units

from .fabric import Sizes
from .joined import Instance, Netlist, build_joined

__all__ = ["build_compiled"]


def build_compiled(fabric: WaferSpec | MeshSpec, size: Sizes) -> Path:
    """Return the compiled program of a fabric: its endpoints, then its units.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    plan, endpoint, units = fabric_units(fabric)
    instances = [Instance(endpoint) for _ in range(plan.endpoints)]
    instances += [Instance(unit, one.pins) for unit, one in zip(units, plan.units, strict=True)]
    return build_joined(Netlist("fabric", instances, list(plan.joints())), size)
