"""Compiled fabrics: results do not depend on threads, nor on how far a unit runs ahead."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.ace.operations import Buffer, FlowId, exchange
from fred_hw.compiler.placement import Strategy
from fred_hw.fabric_plan import Joint
from fred_hw.mesh.program import MeshProgram, compile_for_mesh
from fred_hw.mesh.spec import MeshSpec
from fred_hw.wafer.load import load_wafer
from gen.companions.sva import assertions, bind_file
from testbench.collectives.fabric import Sizes
from testbench.collectives.joined import Instance, Netlist, build_joined, run_joined
from testbench.collectives.phase_cycles import random_memories
from testbench.collectives.plane import MARK, SHOW, WAIT, PlaneRun, npu_steps
from testbench.sim.kept import Kept, kept
from tests.testbench.collectives.planes import EXAMPLE

SIZE = 26  # bytes of a buffer
SIZES = load_wafer(str(EXAMPLE)).model_dump(include={"lanes", "protocol", "endpoint"})
MESH = MeshSpec(width=2, height=1, controllers=False, **SIZES)  # with the endpoint of the wafer
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("joined")]


@cache
def pair() -> Path:
    """Return two endpoints on one link."""
    ends = [Instance(NpuEndpoint(spec=MESH.link)) for _ in range(2)]
    return build_joined(Netlist("pair", ends, [Joint(0, 0, 1, 0), Joint(1, 0, 0, 0)]), Sizes())


def pair_run(made: MeshProgram, pause: int) -> PlaneRun:
    """Return exchanges before and after a pause."""
    registers, steps = endpoint_map(made.link), []
    for npu in range(2):
        other = FlowId(1 - npu, unicast=True)
        one = exchange("pp", (Buffer(0, SIZE), other), (Buffer(SIZE, SIZE), other))
        begin = npu_steps(made, npu, [(0, one)], 0)
        shown = [(SHOW, registers.register(n).address, 0, 0) for n in ("CYCLES", "FLITS_RECEIVED")]
        again = npu_steps(made, npu, [(0, one), (0, one)], 0)[len(made.begin_steps(npu)) :]
        steps.append([*begin, (WAIT, 0, pause, 0), (MARK, 0, 0, 0), *shown, *again, *shown])
    memories = random_memories(made, 1)
    return PlaneRun(program=made, steps=steps, memories=memories, limit=20_000)


@pytest.mark.parametrize(("faults", "stalls"), [(0, 0), (20_000, 10)])
def test_units_that_run_ahead_give_the_same_results(
    faults: int, stalls: int, tmp_path: Path
) -> None:
    made = compile_for_mesh(MESH, Strategy.parse("MP2-DP1-PP1"), SIZE)
    one = replace(pair_run(made, 500), faults=faults, memory_stalls=stalls)
    plain = run_joined(pair(), one, tmp_path / "plain", plain=True, threads=1)
    alone, found = (
        run_joined(pair(), one, tmp_path / str(threads), threads=threads) for threads in (1, 2)
    )
    for a, b, c in zip(found.memories, alone.memories, plain.memories, strict=True):
        assert (a == b).all() and (b == c).all()
        assert (a.reshape(-1)[SIZE : 2 * SIZE] != 0).any()
    assert all((each.faults > 0) == (faults > 0) for each in (found, alone, plain))
    reported = [replace(each, memories=[]) for each in (found, alone, plain)]
    assert reported[0] == reported[1] == reported[2]
    for reads, times in zip(found.reads, found.times, strict=True):
        first, last = reads["CYCLES"]
        assert last - first == times[-2] - times[1] > 100
        assert first > 500
        assert reads["ERROR"] == [0, 0]


@pytest.mark.parametrize(("faults", "stalls"), [(0, 0), (20_000, 10)])
def test_endpoints_with_drivers_and_memories_keep_the_assertions(
    faults: int, stalls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bound(*what: Any, **more: Any) -> Kept:
        design = kept(*what, **more)
        return Kept(design.name, design.verilog + assertions(design) + bind_file(design))

    monkeypatch.setattr("testbench.collectives.joined.kept", bound)
    made = compile_for_mesh(MESH, Strategy.parse("MP2-DP1-PP1"), SIZE)
    run = replace(pair_run(made, 500), faults=faults, memory_stalls=stalls)
    # A violation ends the program without a result.
    found = run_joined(pair.__wrapped__(), run, tmp_path, plain=True, threads=1)
    assert (found.faults > 0) == (faults > 0)
    assert all(reads["ERROR"] == [0, 0] for reads in found.reads)
