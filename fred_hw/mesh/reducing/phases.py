"""Phases of a strategy on the trees of a mesh whose routers reduce and multicast."""

from fred_hw.ace.steps import circuit_of
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.phase_waits import PhaseFlow, phase_flow
from fred_hw.virtual_channels import class_number

from .plan import ReducingMesh
from .trees import find_trees

__all__ = ["phases_on_trees"]


def phases_on_trees(mesh: ReducingMesh, strategy: Strategy) -> tuple[list[PhaseFlow], list[str]]:
    """Return the flows of the phases of a strategy, and the names of phases without trees.

    Worker n is NPU n. Phases come in the order of ``placement.phases``; the flows of a phase are on
    trees without common links.

    Raises
    ------
    ValueError
        The strategy has more workers than there are NPUs.
    """
    if strategy.workers > mesh.npus:
        raise ValueError(
            f"strategy {strategy} must have at most as many workers as the mesh has NPUs "
            f"({mesh.npus}), not {strategy.workers}"
        )
    found: list[PhaseFlow] = []
    without: list[str] = []
    for name, flows in phases(strategy).items():
        trees = find_trees(mesh, flows)
        if trees is None:
            without.append(name)
            continue
        circuit = class_number(circuit_of(name))
        found += [
            phase_flow(mesh, name, circuit, flow, tree.flows)
            for flow, tree in zip(flows, trees, strict=True)
        ]
    return found, without
