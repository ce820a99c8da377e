"""Tasks of an NPU in a plane: compute, and its part in flows."""

from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.checks import check_int

__all__ = ["Task", "check_tasks"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task of an NPU: compute, or a communication with others.

    Parameters
    ----------
    name : str
        Name for reports.
    after : tuple of int
        Indices of tasks of the same NPU that end before this one starts.
    cycles : int
        Duration of compute, 1 or more; 0 for communication.
    inputs, outputs : tuple of int
        NPUs whose data is reduced, and those that receive the result, in ascending order.
    size : int
        Bytes that an input sends in this plane, whole flits.
    circuit : str
        Virtual channel of a communication, if the tasks define it and no phase does.
    """

    name: str
    after: tuple[int, ...] = ()
    cycles: int = 0
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    size: int = 0
    circuit: str = ""

    def __post_init__(self) -> None:
        check_int("cycles of a task", self.cycles, minimum=0)
        check_int("size of a task", self.size, minimum=0)
        if bool(self.cycles) == bool(self.size):
            raise ValueError(
                f"task {self.name} must compute for some cycles or send some bytes, not "
                f"{self.cycles} cycles and {self.size} bytes"
            )

    @property
    def flow(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Inputs and outputs of the task's flow."""
        return self.inputs, self.outputs


def check_tasks(npus: Sequence[Sequence[Task]]) -> None:
    """Fail unless the tasks are consistent.

    Each task depends only on earlier ones, and its NPU takes part in it; and all NPUs of a flow
    have its tasks in the same order, with the same sizes.

    Raises
    ------
    ValueError
        The tasks are not consistent.
    """
    sizes: dict[object, dict[int, list[int]]] = {}
    for npu, tasks in enumerate(npus):
        for place, task in enumerate(tasks):
            if any(not 0 <= one < place for one in task.after):
                raise ValueError(
                    f"task {place} of NPU {npu} must wait only for earlier tasks, not {task.after}"
                )
            if task.cycles:
                continue
            if npu not in (*task.inputs, *task.outputs):
                raise ValueError(f"task {place} of NPU {npu} must belong to a flow of this NPU")
            sizes.setdefault(task.flow, {}).setdefault(npu, []).append(task.size)
    for flow, found in sizes.items():
        assert isinstance(flow, tuple)
        members = {*flow[0], *flow[1]}
        if members != found.keys() or len({tuple(one) for one in found.values()}) > 1:
            raise ValueError(
                f"flow {list(flow[0])} -> {list(flow[1])} must have tasks of the same sizes in "
                "one order at each of its NPUs, and it has not"
            )
