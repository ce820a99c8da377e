"""Trees and meshes for all-reduces with schedule tables, shared by tests."""

from collections.abc import Callable

from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.tree_program import TreeEdge, TreeProgram
from perfmodel.collectives.link_graph import LinkGraph, graph_of
from perfmodel.collectives.multitree import grow
from perfmodel.collectives.single_port import with_single_ports
from perfmodel.collectives.synthesis import Shard, synthesize
from perfmodel.topology.parse import parse_topology
from tests.testbench.cases import ENGINE, SHORT

__all__ = ["edges_of", "synthesized_edges", "tree_program", "with_tables"]


def edges_of(mesh: MeshSpec) -> tuple[TreeEdge, ...]:
    """Return the trees of MultiTree on a mesh or torus whose endpoints have one link."""
    trees = grow(_graph(mesh), full_slots=True).trees
    return tuple(
        TreeEdge(root, one.child, one.parent, one.step)
        for root, own in trees.items()
        for one in own
    )


def synthesized_edges(mesh: MeshSpec) -> tuple[TreeEdge, ...]:
    """Return trees from a synthesized all-gather on a mesh whose endpoints have one link."""
    plan = synthesize(_graph(mesh), [Shard(member) for member in range(mesh.routers)])
    return tuple(TreeEdge(one.shard, one.target, one.source, one.step) for one in plan.moves)


def _graph(mesh: MeshSpec) -> LinkGraph:
    """Return the links of a mesh or torus whose endpoints have one link."""
    kind = "torus" if mesh.wrap else "mesh"
    topology = parse_topology(f"{kind}:{mesh.width}x{mesh.height}", "ideal")
    return with_single_ports(graph_of(topology, range(mesh.routers)))


def with_tables(columns: int, rows: int, entries: int = 64, read_ports: int = 2) -> MeshSpec:
    """Return a small mesh of FP16 whose endpoints have schedule tables."""
    sizes = {"schedule_entries": entries, "read_ports": read_ports}
    return MeshSpec(
        width=columns,
        height=rows,
        controllers=False,
        lanes=1,
        protocol=SHORT,
        endpoint=ENGINE.model_copy(update=sizes),
    )


def tree_program(
    mesh: MeshSpec,
    block: int,
    step_cycles: int,
    edges: Callable[[MeshSpec], tuple[TreeEdge, ...]] = edges_of,
) -> TreeProgram:
    """Return an all-reduce with blocks of so many flits."""
    return TreeProgram(
        mesh=mesh,
        edges=edges(mesh),
        size=mesh.routers * block * mesh.link.data_width // 8,
        step_cycles=step_cycles,
    )
