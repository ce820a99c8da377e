"""Hardware work of an all-reduce on a fabric, counted from compiled programs."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fred_hw.ace.operations import Descriptor
    from fred_hw.fabric_plan import FabricPlan
    from fred_hw.mesh.spec import MeshSpec
    from fred_hw.wafer.spec import WaferSpec

__all__ = [
    "Paths",
    "Work",
    "added_flits",
    "memory_flits",
    "mesh_paths",
    "mesh_work",
    "plane_paths",
    "plane_work",
]


@dataclass(frozen=True)
class Work:
    """Work of all NPUs, links and switches in an all-reduce, in flits per flit of a vector.

    A vector is what one NPU has of the tensor, in all planes together; so each figure is per NPU if
    it is over the number of NPUs.

    Parameters
    ----------
    npus : int
        NPUs that take part.
    crossed : float
        Data flits over links, those of NPUs to their switch or router too.
    added : float
        Flits added to another one.
    read, written : float
        Flits read from and written to memories of NPUs.
    """

    npus: int
    crossed: float
    added: float
    read: float
    written: float


@dataclass(frozen=True)
class Paths:
    """Number of switches or routers, and of links, between two NPUs.

    Parameters
    ----------
    mean_units, most_units : float, int
        Switches or routers on a way.
    mean_links, most_links : float, int
        Links, those of both NPUs too.
    """

    mean_units: float
    most_units: int
    mean_links: float
    most_links: int


def plane_work(wafer: "WaferSpec", vector_flits: int) -> Work:
    """Return the work of planes of switches in an in-network all-reduce of all NPUs.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    vector_flits : int
        Vector of each NPU, in all planes together; the same number of flits in each plane.
    """
    from fred_hw.compiler.placement import Strategy
    from fred_hw.wafer.program import compile_strategy

    flit = wafer.link.data_width // 8
    size = vector_flits // wafer.planes * flit
    program = compile_strategy(wafer, Strategy(wafer.npus, 1, 1), size)
    (phase,) = program.phases
    parts = [flow for own in phase.paths.flows.values() for flow in own]
    ends = [program.descriptors(npu, phase) for npu in range(wafer.npus)]
    jobs = [one for own in ends for one in own]
    read, written, sent = memory_flits(jobs, flit)
    in_plane = size // flit
    copies = sum(len(flow.outputs) for flow in parts) * in_plane
    added = sum(len(flow.inputs) - 1 for flow in parts) * in_plane
    share = wafer.planes / vector_flits
    figures = (sent + copies, added, read, written)
    return Work(wafer.npus, *(share * one for one in figures))


def mesh_work(mesh: "MeshSpec", vector_flits: int) -> Work:
    """Return the work of a mesh in an all-reduce of all NPUs, as compiled by default."""
    from fred_hw.compiler.placement import Strategy
    from fred_hw.mesh.program import compile_for_mesh

    flit = mesh.link.data_width // 8
    program = compile_for_mesh(mesh, Strategy(mesh.routers, 1, 1), vector_flits * flit)
    (phase,) = program.phases
    jobs = [one for npu in range(mesh.routers) for one in program.descriptors(npu, phase)]
    read, written, _ = memory_flits(jobs, flit)
    crossed = sum(program.link_flits(phase.name).values())
    added = sum(added_flits(one, flit) for one in jobs)
    figures = (crossed, added, read, written)
    return Work(mesh.routers, *(one / vector_flits for one in figures))


def memory_flits(jobs: Iterable["Descriptor"], flit_bytes: int) -> tuple[int, int, int]:
    """Return the flits that descriptors read, write and send.

    In a ring each block is read once and each result written once: partial sums stay in the
    scratchpad (ACE, arXiv 2007.00156).
    """
    read = written = sent = 0
    for one in jobs:
        flits = one.source.size // flit_bytes
        if one.ring is None:
            read += flits if one.send else 0
            sent += flits if one.send else 0
            written += one.destination.size // flit_bytes if one.receive else 0
            continue
        own = _blocks(flits, one.ring.members)[one.ring.rank]
        read += own if one.operation == "all_gather" else flits
        gets = {"all_reduce": flits, "reduce_scatter": own}
        written += gets.get(one.operation, flits - own)
    return read, written, sent


def added_flits(one: "Descriptor", flit_bytes: int) -> int:
    """Return the flits that an endpoint adds: those of all blocks but the first it sends."""
    if one.ring is None or one.operation == "all_gather":
        return 0
    flits = one.source.size // flit_bytes
    blocks = _blocks(flits, one.ring.members)
    # In a reduce-scatter rank k starts with block k - 1, and ends with block k.
    return flits - blocks[one.ring.rank - 1]


def _blocks(flits: int, members: int) -> list[int]:
    block = -(-flits // members)
    return [min(block, max(0, flits - block * k)) for k in range(members)]


def plane_paths(wafer: "WaferSpec") -> Paths:
    """Return the distances between any two NPUs of a plane."""
    from fred_hw.wafer.plane import Plane

    return _paths(Plane(wafer))


def mesh_paths(mesh: "MeshSpec") -> Paths:
    """Return the distances between any two NPUs of a mesh."""
    return _paths(mesh.plan)


def _paths(plan: "FabricPlan[Any]") -> Paths:
    units = [len(plan.route(*pair)) - 1 for pair in permutations(range(plan.npus), 2)]
    mean: Any = sum(units) / len(units)
    return Paths(mean, max(units), mean + 1, max(units) + 1)
