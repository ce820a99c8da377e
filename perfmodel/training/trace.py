"""Timeline of an iteration in the Chrome trace event format, which Perfetto opens.

Format: "Trace Event Format", Google, 2016: complete events ("ph": "X") with times in microseconds,
and metadata events for names.
"""

from .iteration import PARTS, Iteration

__all__ = ["chrome_trace"]


def chrome_trace(iteration: Iteration, title: str) -> dict[str, object]:
    """Return a JSON object with a process for each NPU and a thread for each kind of task.

    Parameters
    ----------
    iteration : Iteration
        What ran.
    title : str
        For people.
    """
    placement = iteration.placement
    events: list[dict[str, object]] = []
    for stage in range(placement.strategy.pp):
        npus = [npu for group in placement.mp_groups(stage) for npu in group]
        for npu in npus:
            name = {"name": f"NPU {npu}, stage {stage}"}
            events.append({"ph": "M", "name": "process_name", "pid": npu, "args": name})
            for thread, kind in enumerate(PARTS):
                label = {"name": kind.replace("_", " ")}
                events.append(
                    {"ph": "M", "name": "thread_name", "pid": npu, "tid": thread, "args": label}
                )
        ran = zip(iteration.tasks, iteration.run.start_s, iteration.run.end_s, strict=True)
        for task, start_s, end_s in ran:
            if task.place != stage:
                continue
            event: dict[str, object] = {
                "ph": "X",
                "name": task.name,
                "cat": task.kind,
                "tid": PARTS.index(task.kind),
                "ts": start_s * 1e6,
                "dur": (end_s - start_s) * 1e6,
            }
            events += [event | {"pid": npu} for npu in npus]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"title": title}}
