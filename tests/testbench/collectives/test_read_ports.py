"""Endpoints with two ports to read memory: rings on a switch and a mesh, bit for bit.

Each port to memory, two that read and one that writes, stalls at random and by itself.
"""

from functools import cache
from pathlib import Path

import pytest

from fred_cli.hardware_work import added_flits, memory_flits
from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Buffer, FlowId, exchange
from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.program import MeshProgram, compile_for_mesh
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import (
    ADDRESSES,
    Fabric,
    Finished,
    Program,
    Sizes,
    build_fabric,
    run_fabric,
)
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import random_memories
from testbench.collectives.plane import SHOW, PlaneRun, npu_steps
from testbench.models.golden_phase import wrong_npus

from . import test_fabric, test_mesh_with_endpoints
from .test_fabric import (
    BYTES,
    EVERY,
    N,
    memories,
    numbers,
    programs,
    queued_rings,
    ring,
    ring_sum,
)
from .test_mesh_with_endpoints import FLIT

TWO = test_fabric.ENGINE.model_copy(update={"read_ports": 2})
SPEC = test_fabric.SPEC.with_changes(endpoint=TWO)
MESH = test_mesh_with_endpoints.MESH.with_changes(width=3, endpoint=TWO)
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("read_ports")]


@cache
def switch() -> Path:
    return build_fabric(SPEC, Sizes())


@cache
def mesh() -> Path:
    return build_compiled(MESH, Sizes())


def run(tmp_path: Path, made: list[Program], **conditions: object) -> Finished:
    conditions = {"memories": memories(), "limit": 20_000, **conditions}
    return run_fabric(switch(), Fabric(spec=SPEC, programs=made, **conditions), tmp_path)  # pyright: ignore[reportArgumentType]


@pytest.mark.long  # the same counters on a mesh are read below, in compiled code
@pytest.mark.parametrize(("stalls", "faults"), [(0, 0), (30, 0), (70, 5000)])
def test_rings_and_copies_read_each_flit_once(tmp_path: Path, stalls: int, faults: int) -> None:
    """Of sizes that do not divide evenly, one behind the other, with an exchange between them."""
    made, before, want, reads = programs(), memories(), memories(), [0] * N
    for k, first, size in queued_rings(made, want):
        copy = Buffer(BYTES * first, BYTES * size), FlowId(ADDRESSES[(k + 1) % N], unicast=True)
        to = Buffer(BYTES * (170 + first), BYTES * size)
        made[k].queue(exchange("dp", copy, (to, FlowId(ADDRESSES[(k - 1) % N], unicast=True))))
        want[k][170 + first : 170 + first + size] = before[k - 1][first : first + size]
        reads[k] += 2 * size
    for program in made:
        program.finish("dp")
        for name in ("MEMORY_READS", "READ_STALLS", "ERROR"):
            program.show(name)
    found = run(tmp_path, made, faults=faults, memory_stalls=stalls, seed=4)
    assert (found.faults > 0) == (faults > 0)
    for k in EVERY:
        assert (found.memories[k] == want[k]).all()
        assert found.reads[k]["ERROR"] == [0]
        assert found.reads[k]["MEMORY_READS"] == [reads[k]]
        assert (found.reads[k]["READ_STALLS"][0] > 0) == (stalls > 0)


@pytest.mark.long
def test_reset_of_all_in_the_middle_of_a_ring(tmp_path: Path) -> None:
    """Whatever both ports were asked for is forgotten, and the next ring is right."""
    made, size = programs(), 60
    for k, program in enumerate(made):
        program.queue(ring("all_reduce", k, (0, size), 80))
        if k == 0:
            program.until("MEMORY_READS", 32, 0xFFFFFFE0)
            program.reset()
        program.finish("dp")
        program.reset()
        program.after_reset()
        program.begin(ADDRESSES[k])
        program.wait(400)
        program.queue(ring("all_reduce", k, (0, size), 160))
        program.finish("dp")
        for name in ("ERROR", "MEMORY_READS"):
            program.show(name)
    found = run(tmp_path, made, resets={k: 5 * k for k in EVERY}, memory_stalls=30)
    want = ring_sum([numbers(one, 0, size) for one in memories()], size)
    for k in EVERY:
        assert (numbers(found.memories[k], 80, size) != want).any()  # it was in the middle
        assert (numbers(found.memories[k], 160, size) == want).all()
        assert found.reads[k] == {"ERROR": [0], "MEMORY_READS": [size]}


def on_mesh(tmp_path: Path, made: MeshProgram, faults: int, stalls: int) -> Finished:
    """Do all phases at once on a mesh in compiled code, and compare all results."""
    before = random_memories(made, 1)
    shows = [
        (SHOW, endpoint_map(made.link).register(name).address, 0, 0)
        for name in ("MEMORY_READS", "FLITS_REDUCED", "READ_STALLS")
    ]
    steps = [
        [
            *npu_steps(
                made, n, [(0, one) for p in made.phases for one in made.descriptors(n, p)], 0
            ),
            *shows,
        ]
        for n in range(made.npus)
    ]
    one = PlaneRun(program=made, steps=steps, memories=before, limit=60_000)
    one = PlaneRun(**{**vars(one), "faults": faults, "memory_stalls": stalls})
    found = run_joined(mesh(), one, tmp_path)
    for phase in made.phases:
        assert wrong_npus(made, phase.name, before, found.memories) == [], phase.name
    assert (found.faults > 0) == (faults > 0)
    assert [each["ERROR"] for each in found.reads] == [[0]] * made.npus
    return found


@pytest.mark.parametrize("stalls", [0, 30, 70])
@pytest.mark.parametrize(
    ("strategy", "size"), [("MP6-DP1-PP1", 50), ("MP6-DP1-PP1", 200), ("MP3-DP2-PP1", 13)]
)
def test_rows_and_columns_on_a_mesh(tmp_path: Path, strategy: str, size: int, stalls: int) -> None:
    """With slots as small as here in halves on two circuits, which share both ports."""
    made = compile_for_mesh(MESH, Strategy.parse(strategy), FLIT * size)
    found = on_mesh(tmp_path, made, 5000 * (stalls > 0), stalls)
    for n, reads in enumerate(found.reads):
        own = [one for phase in made.phases for one in made.descriptors(n, phase)]
        assert reads["MEMORY_READS"] == [memory_flits(own, FLIT)[0]]
        assert (reads["READ_STALLS"][0] > 0) == (stalls > 0)
        assert reads["FLITS_REDUCED"] == [sum(added_flits(one, FLIT) for one in own)]
