"""What descriptors are said to read, write and add is what counters of endpoints count."""

from pathlib import Path

import pytest

from fred_cli.hardware_work import added_flits, memory_flits
from fred_hw.ace.endpoint_map import endpoint_map
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import random_memories
from testbench.collectives.plane import SHOW, PlaneRun, npu_steps

from .test_mesh_with_endpoints import FLIT, MESH, model, program

COUNTERS = ("MEMORY_READS", "MEMORY_WRITES", "FLITS_REDUCED")


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("mesh_with_ends")
@pytest.mark.parametrize("algorithm", ["ring", "hierarchical_2d_halves"])
def test_counters_agree_with_the_compiled_program(algorithm: str, tmp_path: Path) -> None:
    made = program("MP4-DP1-PP1", algorithm, 16)
    (phase,) = made.phases
    shows = [(SHOW, endpoint_map(MESH.link).register(name).address, 0, 0) for name in COUNTERS]
    jobs = [made.descriptors(npu, phase) for npu in range(4)]
    steps = [
        [*npu_steps(made, n, [(0, one) for one in own], 0), *shows] for n, own in enumerate(jobs)
    ]
    run = PlaneRun(program=made, steps=steps, memories=random_memories(made, 1), limit=6000)
    found = run_joined(model(), run, tmp_path)
    for own, reads in zip(jobs, found.reads, strict=True):
        read, written, _ = memory_flits(own, FLIT)
        added = sum(added_flits(one, FLIT) for one in own)
        assert [reads[name] for name in COUNTERS] == [[read], [written], [added]]
