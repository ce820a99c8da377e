"""Endpoints at a small mesh: collectives from the compiler's programs, bit for bit.

In compiled code, and one in Icarus, as the mesh is generated.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.program import MeshProgram, compile_for_mesh
from fred_hw.mesh.spec import MeshSpec
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.mesh_with_endpoints import build_mesh_with_ends
from testbench.collectives.phase_cycles import phase_cycles, random_memories
from testbench.collectives.plane import PlaneRun, npu_steps, run_plane
from testbench.models.golden_phase import wrong_npus
from tests.testbench.cases import ENGINE, SHORT

FLIT, SIZE = 2, 13  # bytes of a flit, flits of a buffer
FAULTS = {"faults": 5000, "memory_stalls": 30, "limit": 40_000}
MESH = MeshSpec(
    width=2,
    height=2,
    controllers=False,
    lanes=1,
    protocol=SHORT,
    endpoint=ENGINE,
)
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("mesh_with_ends")]


@cache
def model() -> Path:
    return build_compiled(MESH, Sizes())


def program(strategy: str, algorithm: str = "auto", size: int = SIZE) -> MeshProgram:
    return compile_for_mesh(MESH, Strategy.parse(strategy), FLIT * size, algorithm=algorithm)


def run(tmp_path: Path, made: MeshProgram, names: tuple[str, ...], **more: Any) -> Finished:
    """Do phases one after the other, and compare all results; None of them reads another's."""
    before = random_memories(made, 1)
    steps = [
        npu_steps(
            made,
            npu,
            [(7 * npu, one) for n in names for one in made.descriptors(npu, made.phase(n))],
            0,
        )
        for npu in range(4)
    ]
    one = PlaneRun(program=made, steps=steps, memories=before, **{"limit": 6000, **more})
    found = run_joined(model(), one, tmp_path)
    assert [each["ERROR"] for each in found.reads] == [[0]] * 4
    for name in names:
        assert wrong_npus(made, name, before, found.memories) == [], name
    assert (found.faults > 0) == ("faults" in more)
    return found


def test_phases_of_a_strategy_on_two_circuits(tmp_path: Path) -> None:
    """Groups of MP in rows and DP in columns, begun apart; a ring of DP beside one of MP."""
    made = program("MP2-DP2-PP1")
    run(tmp_path, made, tuple(one.name for one in made.phases))


@pytest.mark.parametrize("size", [9, 2])
def test_rings_with_empty_blocks(tmp_path: Path, size: int) -> None:
    """Of four members, whose blocks have 3, 3, 3 and 0 flits, or 1, 1, 0 and 0."""
    run(tmp_path, program("MP1-DP4-PP1", "ring", size), ("dp_all_reduce",))


def test_two_directions_and_multicasts_through_faults(tmp_path: Path) -> None:
    # Few flits: with fewer faults all of them may be spared.
    faults = FAULTS | {"faults": 15000}
    run(tmp_path, program("MP1-DP4-PP1", "bidirectional_ring"), ("dp_all_reduce",), **faults)
    made = program("MP2-DP1-PP2")
    run(tmp_path, made, ("pp_forward", "pp_backward"), **faults)


def test_rows_and_columns_reduce_scatter_and_all_gather(tmp_path: Path) -> None:
    made = program("MP4-DP1-PP1-SP", "hierarchical_2d_halves")
    run(tmp_path, made, tuple(one.name for one in made.phases))


@pytest.mark.parametrize(
    ("strategy", "name"), [("MP1-DP4-PP1-EP4", "ep_all_to_all"), ("MP1-DP4-PP1", "dp_all_reduce")]
)
def test_cycles_of_a_phase_are_those_of_the_generated_mesh(
    strategy: str, name: str, tmp_path: Path
) -> None:
    """An all-to-all in three turns, or a ring; results are checked bit for bit."""
    made = program(strategy, size=8)
    icarus, phase = build_mesh_with_ends(MESH, Sizes()), made.phase(name)
    found = phase_cycles(made, phase, lambda one: run_plane(icarus, one, tmp_path / "icarus"))
    compiled = phase_cycles(made, phase, lambda one: run_joined(model(), one, tmp_path / "joined"))
    assert found == compiled
    assert found.flits == 4 * 8
    assert 100 < found.cycles < 600
