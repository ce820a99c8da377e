"""An iteration on a small plane in Icarus: tasks in their order, compute exact, results right."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.tasks import Task
from testbench.collectives import iteration
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.iteration import run_tasks, task_steps
from testbench.collectives.plane import PlaneRun
from testbench.sim.tools import SimulatorError

EXAMPLE = Path(__file__).parents[3] / "examples/wafer-4.yaml"
FLIT = 2
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]


def program(number_format: str = "fp16") -> WaferProgram:
    wafer = load_wafer(str(EXAMPLE), {"format": number_format})
    return compile_strategy(wafer, Strategy.parse("MP2-DP1-PP2"), 24 * FLIT)


def work(cycles: int, *after: int) -> Task:
    return Task(name="work", after=after, cycles=cycles)


def flow(inputs: Sequence[int], outputs: Sequence[int], flits: int, *after: int) -> Task:
    size = flits * FLIT
    return Task(name="flits", after=after, inputs=tuple(inputs), outputs=tuple(outputs), size=size)


def pipeline() -> list[list[Task]]:
    """Return two stages of two NPUs and two microbatches, whose backward passes overtake none."""
    first, second = (0, 1), (2, 3)
    tasks: list[list[Task]] = []
    for npu in first:
        forward = [work(60), flow(first, first, 12, 0)]
        sends = [flow([0], second, 24, 1)] if npu == 0 else []
        again = [work(70, 1), flow(first, first, 8, len(forward + sends))]
        forward += sends + again
        sends = [flow([0], second, 24, len(forward) - 1)] if npu == 0 else []
        at = len(forward + sends)
        gets = [flow([2], first, 16), flow([2], first, 16)]
        ends = [work(90, at), work(40, at + 1, at + 2)]
        tasks.append([*forward, *sends, *gets, *ends])
    for npu in second:
        gets = [flow([0], second, 24), flow([0], second, 24)]
        middle = [work(100, 0), flow(second, second, 10, 2)]
        sends = [flow([2], first, 16, 3)] if npu == 2 else []
        at = len(gets + middle + sends)
        more = [work(30, 1, 3), flow(second, second, 10, at)]
        last = [flow([2], first, 16, at + 1)] if npu == 2 else []
        tasks.append([*gets, *middle, *sends, *more, *last])
    return tasks


def test_tasks_run_in_their_order_and_compute_takes_its_time(tmp_path: Path) -> None:
    tasks = pipeline()
    run = run_tasks(program(), tasks, tmp_path, size=Sizes(), limit=8_000)
    assert run.simulator == "icarus"
    for npu, (one, times) in enumerate(zip(tasks, run.times, strict=True)):
        for task, (begin, end) in zip(one, times, strict=True):
            assert all(times[before][1] <= begin for before in task.after), (npu, task)
            if task.cycles:
                assert task.cycles <= end - begin <= task.cycles + 3
            else:
                assert end - begin >= task.size // FLIT
    assert run.cycles == max(end for times in run.times for _, end in times) < 1_400
    # A stage goes on with its second microbatch while the first comes back to the stage before.
    second, first_back = run.times[2][5], run.times[0][-4]
    assert tasks[2][5].cycles == 30 and tasks[0][-4].outputs == (0, 1)
    assert second[0] < first_back[1]


@pytest.mark.parametrize("number_format", ["fp16", "int8"])
def test_wrong_results_are_noticed(
    number_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lazy(_: Path, run: PlaneRun, __: Path) -> Finished:
        return Finished([*run.memories], [{"ERROR": [0]}] * 4, [], 0, [[1, 2]] * 4)

    monkeypatch.setattr(iteration, "build_plane", lambda *_: tmp_path)
    monkeypatch.setattr(iteration, "run_plane", lazy)
    tasks = [[flow((0, 1), (0, 1), 4)], [flow((0, 1), (0, 1), 4)], [work(1)], [work(1)]]
    with pytest.raises(SimulatorError, match="mp_all_reduce: what NPU 0 has received is wrong"):
        run_tasks(program(number_format), tasks, tmp_path, size=Sizes(), limit=4_000)


def test_right_sums_of_bytes_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def right(_: Path, run: PlaneRun, __: Path) -> Finished:
        found = [one.copy() for one in run.memories]
        source, destination = run.program.buffers(run.program.phase("mp_all_reduce"))
        first, second = (one.reshape(-1)[source.address :][:8] for one in run.memories[:2])
        sums = np.clip(first.view(np.int8).astype(int) + second.view(np.int8), -128, 127)
        for one in found[:2]:
            one.reshape(-1)[destination.address :][:8] = sums.astype(np.int8).view(np.uint8)
        return Finished(found, [{"ERROR": [0]}] * 4, [], 0, [[1, 2]] * 4)

    monkeypatch.setattr(iteration, "build_plane", lambda *_: tmp_path)
    monkeypatch.setattr(iteration, "run_plane", right)
    tasks = [[flow((0, 1), (0, 1), 4)], [flow((0, 1), (0, 1), 4)], [work(1)], [work(1)]]
    run = run_tasks(program("int8"), tasks, tmp_path, size=Sizes(), limit=4_000)
    assert run.cycles == 1


def test_a_flow_without_a_phase_is_refused() -> None:
    with pytest.raises(ValueError, match=r"task flits must be a flow of a phase of MP2-DP1-PP2"):
        task_steps(program(), 0, [flow((0, 2), (0, 2), 4)], 300)
    both = replace(flow((0, 1), (0, 1), 4), outputs=(0,))
    with pytest.raises(ValueError, match=r"not \[0, 1\] -> \[0\]"):
        task_steps(program(), 0, [both], 300)
