"""Cycles of phases on a mesh with an endpoint at each router, measured by co-simulation."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.checks import check_int
from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.program import compile_for_mesh
from fred_hw.mesh.spec import MeshSpec
from gen.design import generate
from gen.emitter import VerilogEmitter
from testbench.collectives.compiled import build_compiled_mesh
from testbench.collectives.fabric import Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import LINK_CYCLES, MEMORY_CYCLES, Job, measured_rows
from testbench.record_head import fewer_lanes, record_head

__all__ = [
    "MESH_CYCLES_SCHEMA",
    "characterize_mesh_phases",
    "measured_phases",
    "mesh_with_ends_hash",
]

MESH_CYCLES_SCHEMA = "fred-mesh-cycles/1"

_ALGORITHMS = ("auto", "ring")


def mesh_with_ends_hash(mesh: MeshSpec) -> str:
    """Return what says in a record which Verilog was measured, of routers and endpoints."""
    emitter = VerilogEmitter()
    emitter.add(NpuEndpoint(spec=mesh.link))
    return hashlib.sha256(generate(mesh, emitter, "mesh").verilog.encode()).hexdigest()


def characterize_mesh_phases(
    mesh: MeshSpec, strategies: Sequence[str], flits: Sequence[int], *, seed: int = 1
) -> dict[str, Any]:
    """Do each phase of some strategies alone, and return how many cycles each takes.

    All-reduces and likewise by the algorithm that the compiler chooses and, where that is another
    one, as one ring. Results of all are compared with the golden model, bit for bit. Simulated by
    Verilator: what there is for Icarus has no lines between routers.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh; fewer lanes of it are simulated.
    strategies : Sequence of str
        Such as ``MP2-DP5-PP2``.
    flits : Sequence of int
        What an NPU sends in a phase [flits].
    seed : int
        Of all numbers.

    Raises
    ------
    SimulatorError
        Verilator is not installed, or a run failed.
    ValueError
        A strategy does not fit the mesh, or has no phases, or groups of a phase take several
        algorithms.
    """
    check_int("seed", seed, minimum=1)
    small = fewer_lanes(mesh)
    flit = small.link.data_width // 8
    jobs = measured_phases(small, strategies, [count * flit for count in flits])
    verilog = mesh_with_ends_hash(small)
    head = record_head(MESH_CYCLES_SCHEMA, mesh, small, ["verilator"], seed, verilog_sha256=verilog)
    size = Sizes(link_cycles=LINK_CYCLES, memory_cycles=MEMORY_CYCLES)
    model = build_compiled_mesh(small, size)
    return {**head, **measured_rows(jobs, partial(run_joined, model), seed)}


def measured_phases(mesh: MeshSpec, strategies: Sequence[str], sizes: Sequence[int]) -> list[Job]:
    """Return the phases that are measured with buffers of so many bytes, and their algorithms."""
    found: dict[tuple[str, str, str, int], Job] = {}
    for strategy in strategies:
        for how in _ALGORITHMS:
            for size in sizes:
                program = compile_for_mesh(mesh, Strategy.parse(strategy), size, algorithm=how)
                for phase in program.phases:
                    if len(set(phase.algorithms)) > 1:
                        raise ValueError(
                            f"groups of {phase.name} of {strategy} must take one algorithm, not "
                            f"{', '.join(dict.fromkeys(phase.algorithms))}"
                        )
                    algorithm = phase.algorithms[0]
                    key = (strategy, phase.name, algorithm, size)
                    found.setdefault(key, (program, phase, {"algorithm": algorithm}))
    if not found:
        raise ValueError(f"strategy must have phases, not {', '.join(strategies)}")
    return list(found.values())
