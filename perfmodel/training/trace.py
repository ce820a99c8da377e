"""Timeline of an iteration in the Chrome trace event format, which Perfetto opens.

Format: "Trace Event Format", Google, 2016: complete events ("ph": "X") with times in microseconds,
and metadata events for names. Complete events of a thread must nest.
"""

from .iteration import Iteration
from .parts import PARTS

__all__ = ["chrome_trace"]


def chrome_trace(iteration: Iteration, title: str) -> dict[str, object]:
    """Return a JSON object with a process for each NPU and a thread for each kind of task.

    Concurrent tasks of a kind are on further threads.

    Parameters
    ----------
    iteration : Iteration
        The simulated iteration.
    title : str
        Title for readers.
    """
    placement = iteration.placement
    events: list[dict[str, object]] = []
    run, threads = iteration.run, _threads(iteration)
    for stage in range(placement.strategy.pp):
        ran = [
            one
            for one in zip(iteration.tasks, threads, run.start_s, run.end_s, strict=True)
            if one[0].place == stage
        ]
        named = sorted({*range(len(PARTS)), *(thread for _, thread, _, _ in ran)})
        npus = [npu for group in placement.mp_groups(stage) for npu in group]
        for npu in npus:
            name = {"name": f"NPU {npu}, stage {stage}"}
            events.append({"ph": "M", "name": "process_name", "pid": npu, "args": name})
            for thread in named:
                label = {"name": _label(thread)}
                events.append(
                    {"ph": "M", "name": "thread_name", "pid": npu, "tid": thread, "args": label}
                )
        for task, thread, start_s, end_s in ran:
            event: dict[str, object] = {
                "ph": "X",
                "name": task.name,
                "cat": task.kind,
                "tid": thread,
                "ts": start_s * 1e6,
                "dur": (end_s - start_s) * 1e6,
            }
            events += [event | {"pid": npu} for npu in npus]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"title": title}}


def _threads(iteration: Iteration) -> list[int]:
    """Return the thread of each task: its kind's thread, or an extra one while that is occupied."""
    run = iteration.run
    threads = [0] * len(iteration.tasks)
    free_s: dict[tuple[int, int], float] = {}  # end of the last task on each thread of a stage
    for i in sorted(range(len(threads)), key=lambda i: (run.start_s[i], run.end_s[i])):
        task = iteration.tasks[i]
        thread = PARTS.index(task.kind)
        while free_s.get((task.place, thread), 0.0) > run.start_s[i]:
            thread += len(PARTS)
        free_s[task.place, thread] = run.end_s[i]
        threads[i] = thread
    return threads


def _label(thread: int) -> str:
    number, kind = divmod(thread, len(PARTS))
    name = PARTS[kind].replace("_", " ")
    return f"{name} {number + 1}" if number else name
