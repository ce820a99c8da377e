"""Compiled fabrics: units that stand still are left alone, and nobody can tell.

Nor that each is simulated for some cycles before another is, and on which thread.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.ace.operations import Buffer, FlowId, exchange
from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.program import MeshProgram, compile_for_mesh
from fred_hw.mesh.spec import MeshSpec
from fred_hw.wafer.load import load_wafer
from testbench.collectives import joined
from testbench.collectives.fabric import Sizes
from testbench.collectives.joined import Instance, Joint, Netlist, build_joined, run_joined
from testbench.collectives.phase_cycles import random_memories
from testbench.collectives.plane import MARK, SHOW, WAIT, PlaneRun, npu_steps
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
    """Return exchanges before and behind a pause in which nothing happens."""
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


def test_state_in_several_classes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not inlined has bytes that the harness does not compare."""
    for name in ("Vu0.h", "Vu0___024root.h", "Vu0__Syms.h", "Vu0__pch.h", "Vu0_fifo_w8.h"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(joined, "verilate_model", lambda *_: tmp_path)
    end = [Instance(NpuEndpoint(spec=MESH.link))]
    with pytest.raises(AssertionError, match="not inlined"):
        build_joined(Netlist("one", end, []), Sizes())


@pytest.mark.parametrize(("faults", "stalls"), [(0, 0), (20_000, 10)])
def test_what_stands_still_is_left_alone(faults: int, stalls: int, tmp_path: Path) -> None:
    made = compile_for_mesh(MESH, Strategy.parse("MP2-DP1-PP1"), SIZE)
    one = replace(pair_run(made, 5000), faults=faults, memory_stalls=stalls)
    plain = run_joined(pair(), one, tmp_path / "plain", plain=True, threads=1)
    alone, found = (
        run_joined(pair(), one, tmp_path / str(threads), threads=threads) for threads in (1, 2)
    )
    for a, b, c in zip(found.memories, alone.memories, plain.memories, strict=True):
        assert (a == b).all() and (b == c).all()
        assert (a.reshape(-1)[SIZE : 2 * SIZE] != 0).any()
    assert all((each.faults > 0) == (faults > 0) for each in (found, alone, plain))
    told = [replace(each, memories=[], worked=1.0) for each in (found, alone, plain)]
    assert told[0] == told[1] == told[2]
    for reads, times in zip(found.reads, found.times, strict=True):
        # CYCLES is exact behind a pause: what it went on by is the time from one read to the other.
        first, last = reads["CYCLES"]
        assert last - first == times[-2] - times[1] > 100
        assert first > 5000
        assert reads["ERROR"] == [0, 0]
    assert plain.worked == 1.0
    assert stalls or found.worked < 0.2
