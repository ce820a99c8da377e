"""All-reduces along the trees of MultiTree: schedule tables of endpoints at a mesh, bit for bit."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from fred_hw.ace.schedule_entry import ScheduleEntry
from fred_hw.mesh.tree_program import TreeProgram
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.mesh_with_endpoints import build_mesh_with_ends
from testbench.collectives.plane import PlaneRun, run_plane
from testbench.collectives.tree_cycles import tree_cycles
from testbench.sim.tools import SimulatorError

from .trees import synthesized_edges, tree_program, with_tables

SMALL, LARGE = with_tables(2, 2, entries=8, read_ports=1), with_tables(4, 4)
TORUS = LARGE.with_changes(wrap=True, routing="dateline")
STEP = 180
"""Cycles of a step beyond those of the flits of its block, links of 4 cycles, on ``LARGE``."""

BEYOND, WINDOW = -88, 40
"""Cycles of an all-reduce beyond those of its steps, and how much they may differ.

The last step is over when its data have arrived, before its estimated time is.
"""

pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("mesh_with_tables")]

Run = Callable[[PlaneRun], Finished]


@cache
def icarus() -> Path:
    return build_mesh_with_ends(SMALL, Sizes())


@cache
def verilator() -> Path:
    return build_compiled(LARGE, Sizes(flits=2048))


def small(tmp_path: Path) -> Run:
    return partial(run_plane, icarus(), work=tmp_path)


def large(tmp_path: Path) -> Run:
    return partial(run_joined, verilator(), work=tmp_path)


class _Altered(TreeProgram):
    """A program whose tables are changed."""

    def entries(self, npu: int) -> list[ScheduleEntry]:
        return [self.altered(one) for one in super().entries(npu)]

    def altered(self, entry: ScheduleEntry) -> ScheduleEntry:
        raise NotImplementedError


class _WithoutBits(_Altered):
    """No entry waits for a dependency bit."""

    def altered(self, entry: ScheduleEntry) -> ScheduleEntry:
        send, receive = (replace(one, waits=0) for one in (entry.send, entry.receive))
        return replace(entry, send=send, receive=receive)


def altered(kind: type[TreeProgram], program: TreeProgram) -> TreeProgram:
    return kind(program.mesh, program.edges, program.size, program.step_cycles)


@pytest.mark.parametrize("block", [1, 5, 20])
def test_two_by_two_mesh_adds_in_the_order_of_its_trees(block: int, tmp_path: Path) -> None:
    """Blocks of one flit, of one part of a slot, and of several parts."""
    found = tree_cycles(tree_program(SMALL, block, 100 + 2 * block), small(tmp_path))
    assert found.flits == 4 * 4 * block


def test_two_by_two_mesh_through_stalls_of_memory_and_faults_of_links(tmp_path: Path) -> None:
    program = tree_program(SMALL, 20, 100)
    found = tree_cycles(
        program, small(tmp_path), faults=15000, memory_stalls=30, limit=60_000, seed=3
    )
    assert found.finished.faults > 0


def test_three_by_two_mesh_adds_in_the_order_of_a_synthesized_schedule(tmp_path: Path) -> None:
    mesh = with_tables(3, 2, entries=32, read_ports=1)
    program = tree_program(mesh, 5, 110, synthesized_edges)
    assert (program.steps, tree_program(mesh, 5, 110).steps) == (12, 16)
    work = build_mesh_with_ends(mesh, Sizes())
    assert tree_cycles(program, partial(run_plane, work, work=tmp_path)).flits == 6 * 6 * 5


@pytest.mark.parametrize("block", [8, 32])
def test_four_by_four_mesh_takes_twice_the_steps_of_its_trees(block: int, tmp_path: Path) -> None:
    """An all-reduce is over less than half a step before or after the end of its last step."""
    program = tree_program(LARGE, block, block + STEP)
    assert program.steps == 2 * 21
    found = tree_cycles(program, large(tmp_path))
    assert found.flits == 16 * 16 * block
    assert found.last_steps == tuple(
        max(entry.step for entry in program.entries(npu)) for npu in range(program.npus)
    )
    assert max(found.last_steps) == program.steps - 1
    beyond = found.cycles - found.skew - program.steps * program.step_cycles
    assert abs(beyond - BEYOND) <= WINDOW < program.step_cycles // 4


@cache
def torus() -> Path:
    return build_compiled(TORUS, Sizes(flits=2048))


@pytest.mark.parametrize("block", [8, 32])
def test_four_by_four_torus_takes_twice_the_fewest_steps_of_one_link(
    block: int, tmp_path: Path
) -> None:
    """An NPU receives 15 blocks of others, one after the other on its link to its router."""
    program = tree_program(TORUS, block, block + STEP)
    assert program.steps == 2 * 15
    found = tree_cycles(program, partial(run_joined, torus(), work=tmp_path))
    assert found.flits == 16 * 16 * block
    assert max(found.last_steps) == program.steps - 1
    beyond = found.cycles - found.skew - program.steps * program.step_cycles
    assert abs(beyond - BEYOND) <= WINDOW


@pytest.mark.parametrize("seed", range(3))
def test_four_by_four_mesh_through_stalls_of_memory_and_faults_of_links(
    seed: int, tmp_path: Path
) -> None:
    program = tree_program(LARGE, 20, 20 + STEP)
    found = tree_cycles(
        program, large(tmp_path), faults=2000, memory_stalls=30, limit=400_000, seed=seed
    )
    assert found.finished.faults > 0


def test_estimate_that_is_too_short_costs_time_alone(tmp_path: Path) -> None:
    """Dependency bits, not the estimate, keep the sums right."""
    found = tree_cycles(tree_program(LARGE, 20, 0), large(tmp_path))
    assert found.flits == 16 * 16 * 20


def test_sums_are_wrong_without_dependency_bits(tmp_path: Path) -> None:
    program = altered(_WithoutBits, tree_program(LARGE, 20, 0))
    with pytest.raises(SimulatorError, match=r"^NPU \d+ has a wrong result$"):
        tree_cycles(program, large(tmp_path))
