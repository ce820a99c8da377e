"""An iteration on a small plane and a small mesh: tasks in order, compute exact, results right."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fred_hw.ace.steps import EndpointProgram
from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.program import compile_for_mesh
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.tasks import Task
from testbench.collectives import task_jobs
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.iteration_in_rtl import run_tasks, task_steps, under_way
from testbench.collectives.plane import PlaneRun
from testbench.collectives.task_jobs import PlaneJobs
from testbench.sim.tools import SimulatorError
from tracemodel.chakra.plane_storage import with_controllers

from .test_mesh_with_endpoints import MESH

EXAMPLE = Path(__file__).parents[3] / "examples/wafer-4.yaml"
FLIT = 2
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]


def program(number_format: str = "fp16") -> WaferProgram:
    wafer = load_wafer(str(EXAMPLE), {"format": number_format})
    return compile_strategy(wafer, Strategy.parse("MP2-DP1-PP2"), 24 * FLIT)


def mesh_program() -> EndpointProgram:
    return compile_for_mesh(MESH, Strategy(1, 1, 1), 24 * FLIT)


def work(cycles: int, *after: int) -> Task:
    return Task(name="work", after=after, cycles=cycles)


def flow(inputs: Sequence[int], outputs: Sequence[int], flits: int, *after: int) -> Task:
    return Task(
        name="flits",
        after=after,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        size=flits * FLIT,
        circuit="mp" if inputs == outputs else "pp",
    )


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


@pytest.mark.parametrize(("made", "most"), [(program, 1_400), (mesh_program, 2_000)])
def test_tasks_run_in_their_order_and_compute_takes_its_time(
    made: Callable[[], EndpointProgram], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Phases of the plane take as many cycles in Icarus (test_phase_cycles), which is slower.
    monkeypatch.setattr(PlaneJobs, "simulator", "verilator")
    tasks = pipeline()
    run = run_tasks(made(), tasks, tmp_path, size=Sizes(), limit=8_000)
    assert run.simulator == ("verilator" if made is program else "icarus")
    for npu, (one, times) in enumerate(zip(tasks, run.times, strict=True)):
        for task, (begin, end) in zip(one, times, strict=True):
            assert all(times[before][1] <= begin for before in task.after), (npu, task)
            if task.cycles:
                assert task.cycles <= end - begin <= task.cycles + 3
            else:
                assert end - begin >= task.size // FLIT
    assert run.cycles == max(end for times in run.times for _, end in times) < most
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

    monkeypatch.setattr(task_jobs, "build_plane", lambda *_: tmp_path)
    monkeypatch.setattr(task_jobs, "run_plane", lazy)
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

    monkeypatch.setattr(task_jobs, "build_plane", lambda *_: tmp_path)
    monkeypatch.setattr(task_jobs, "run_plane", right)
    tasks = [[flow((0, 1), (0, 1), 4)], [flow((0, 1), (0, 1), 4)], [work(1)], [work(1)]]
    run = run_tasks(program("int8"), tasks, tmp_path, size=Sizes(), limit=4_000)
    assert run.cycles == 1


def test_a_flow_without_a_phase_is_refused() -> None:
    with pytest.raises(ValueError, match=r"task flits must be a flow of a phase of MP2-DP1-PP2"):
        task_steps(PlaneJobs(program()), 0, [flow((0, 2), (0, 2), 4)])
    both = replace(flow((0, 1), (0, 1), 4), outputs=(0,))
    with pytest.raises(ValueError, match=r"not \[0, 1\] -> \[0\]"):
        task_steps(PlaneJobs(program()), 0, [both])


def test_wrong_results_on_a_mesh_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lazy(_: Path, run: PlaneRun, __: Path) -> Finished:
        return Finished([*run.memories], [{"ERROR": [0]}] * 4, [], 0, [[1, 2]] * 4)

    monkeypatch.setattr(task_jobs, "build_mesh_with_ends", lambda *_: tmp_path)
    monkeypatch.setattr(task_jobs, "run_plane", lazy)
    tasks = [[flow([0], (3,), 4)], [work(1)], [work(1)], [flow([0], (3,), 4)]]
    with pytest.raises(SimulatorError, match="what NPU 3 has at the end is wrong"):
        run_tasks(mesh_program(), tasks, tmp_path, size=Sizes(), limit=4_000)


def test_a_message_is_under_way_from_its_sender_to_the_memories() -> None:
    """Of two messages the sender knows late, and one receiver too; the other one asks at once."""
    message = flow([0], (2, 3), 16)
    tasks = [[message, work(9), message], [work(1)], [message, message], [message, message]]
    times = [[(10, 95), (11, 20), (21, 96)], [(0, 1)], [(0, 90), (1, 91)], [(2, 34), (12, 41)]]
    jobs = PlaneJobs(program())
    last = jobs.last_flit(2, message)
    assert jobs.program.phase("pp_forward").number == 1 and last == 3 * 24 + 15
    wrote = [[], [], [(last, 33), (7, 35), (last, 39)], [(last, 32), (last, 40)]]
    assert under_way(jobs, tasks, times, wrote) == [
        [(10, 33), (11, 20), (21, 40)],
        [(0, 1)],
        [(10, 33), (21, 39)],
        [(10, 32), (21, 40)],
    ]
    # Where memories tell nothing software does, when it knows.
    assert under_way(jobs, tasks, times, [])[2] == [(10, 90), (21, 91)]


def streamed() -> list[list[Task]]:
    """Return two layers of MP2-DP2-PP1 whose weights come and whose gradients go, on six ends."""
    found: list[list[Task]] = []
    for npu in range(4):
        row, column = (npu // 2 * 2, npu // 2 * 2 + 1), (npu % 2, npu % 2 + 2)
        home = (4 + npu % 2,)
        own = [
            flow((4 + npu // 2,), row, 4),
            flow(home, column, 24),
            work(40, 1),
            flow(row, row, 6, 2),
            flow(home, column, 20),
            work(300, 3, 4),
            flow(home, column, 16, 3),
            flow(column, home, 20, 5),
            work(50, 5, 6),
            flow(column, home, 24, 8),
        ]
        found.append(own)
    return with_controllers(found, 6, FLIT)


def test_weights_come_while_npus_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads, stores and input through the RTL of controllers, with compute and all-reduces."""
    # Loads and stores take as many cycles in Icarus (test_storage), which is slower.
    monkeypatch.setattr(PlaneJobs, "simulator", "verilator")
    wafer = load_wafer(str(EXAMPLE), {"controllers": "endpoints"})
    made = compile_strategy(wafer, Strategy.parse("MP2-DP2-PP1"), 24 * FLIT)
    tasks = streamed()
    run = run_tasks(made, tasks, tmp_path, size=Sizes(), limit=8_000)
    assert len(run.times) == 6 and [len(one) for one in tasks] == [11] * 4 + [7] * 2
    for own, times in zip(tasks, run.times, strict=True):
        for task, (begin, _) in zip(own, times, strict=True):
            assert all(times[before][1] <= begin for before in task.after), task
    # The second load has come when the second layer begins, and the third while that is at work:
    # software, which computes meanwhile, knows of it sooner than a load takes.
    names = [(one.inputs, one.size // FLIT) for one in tasks[0]]
    second, third = names.index(((4,), 20)), names.index(((4,), 16))
    begin, end = next(
        span for one, span in zip(tasks[0], run.times[0], strict=True) if one.cycles == 300
    )
    assert run.times[0][second][1] <= begin <= run.times[0][third][1] <= end + 100
    # What is sent before an NPU has space takes a timeout more, 1,000 cycles here.
    assert run.times[4][-1][1] == run.cycles < 1_400 and set(run.circuits[4]) == {"dp"}


def test_wrong_stores_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lazy(_: Path, run: PlaneRun, __: Path) -> Finished:
        return Finished([*run.memories], [{"ERROR": [0]}] * 6, [], 0, [[1, 2]] * 6)

    monkeypatch.setattr(task_jobs, "build_plane", lambda *_: tmp_path)
    monkeypatch.setattr(task_jobs, "run_plane", lazy)
    wafer = load_wafer(str(EXAMPLE), {"controllers": "endpoints"})
    made = compile_strategy(wafer, Strategy.parse("MP2-DP2-PP1"), 24 * FLIT)
    store = flow((1, 3), (5,), 4)
    tasks = [[work(1)], [store], [work(1)], [store], [work(1)], [store]]
    with pytest.raises(SimulatorError, match="store_0: what NPU 5 has received is wrong"):
        run_tasks(made, tasks, tmp_path, size=Sizes(), limit=4_000)
