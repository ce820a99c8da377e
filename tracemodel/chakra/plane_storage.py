"""Loads and stores of an iteration on a plane: requests by NPUs and tasks of controllers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fred_hw.wafer.tasks import Task

__all__ = ["with_controllers"]


def with_controllers(
    npus: Sequence[Sequence[Task]], endpoints: int, flit_bytes: int
) -> list[list[Task]]:
    """Return the tasks of all endpoints, those of NPUs first, then those of controllers.

    An NPU has one thread. So that weights arrive while it computes, it queues a load before the
    first compute that follows all predecessors of the load. Stores are queued in the same way,
    before loads. Both use one virtual channel, which keeps their order, so they do not wait for
    each other.

    A controller cannot see when NPUs have free memory. Data that it sends too early would be lost
    and sent again after a timeout. NPUs therefore request a load that follows another task: before
    the load, each of them stores one flit. Switches reduce the stored flits, so the request arrives
    when the last NPU has free memory. The request uses the same buffers as other stores, so a later
    store finds the same contents there.

    Parameters
    ----------
    npus : sequence of sequence of Task
        Tasks of each NPU; loads and stores have an input or an output that is no NPU.
    endpoints : int
        Number of NPUs and controllers.
    flit_bytes : int
        Bytes of a flit.
    """
    count = len(npus)
    found = [_with_requests(_early(own, count), count, flit_bytes) for own in npus]
    return found + [list(_own(found, address)) for address in range(count, endpoints)]


def _is_load(task: Task, npus: int) -> bool:
    return bool(task.inputs) and task.inputs[-1] >= npus


def _is_storage(task: Task, npus: int) -> bool:
    return max((*task.inputs, *task.outputs), default=-1) >= npus


def _early(tasks: Sequence[Task], npus: int) -> list[Task]:
    """Return the tasks of an NPU with loads and stores moved as early as dependencies allow."""
    storage = [place for place, task in enumerate(tasks) if _is_storage(task, npus)]
    beside = {*storage}
    ready: dict[int, int] = {}
    latest = {True: -1, False: -1}
    for place in storage:
        load = _is_load(tasks[place], npus)
        latest[load] = max(latest[load], *(n for n in tasks[place].after if n not in beside), -1)
        ready[place] = latest[load]
    # Stores first: their data is computed already, while a load may have to wait for space.
    waiting = sorted(storage, key=lambda n: (ready[n], _is_load(tasks[n], npus), n))
    order: list[int] = []
    for place, task in enumerate(tasks):
        if place in beside:
            continue
        while task.cycles and waiting and ready[waiting[0]] < place:
            order.append(waiting.pop(0))
        order.append(place)
    order += waiting
    places = {old: new for new, old in enumerate(order)}
    found: list[Task] = []
    for old in order:
        kept = (one for one in tasks[old].after if old not in beside or one not in beside)
        found.append(replace(tasks[old], after=tuple(sorted(places[one] for one in kept))))
    return found


def _with_requests(tasks: Sequence[Task], npus: int, flit_bytes: int) -> list[Task]:
    """Return the tasks of an NPU with a request before each load that waits for free memory."""
    found: list[Task] = []
    places: list[int] = []
    for task in tasks:
        one = replace(task, after=tuple(places[before] for before in task.after))
        if task.after and _is_load(task, npus):
            ends = {"inputs": task.outputs, "outputs": task.inputs}
            found.append(replace(one, name=f"space for {task.name}", size=flit_bytes, **ends))
        places.append(len(found))
        found.append(one)
    return found


def _own(npus: Sequence[Sequence[Task]], controller: int) -> Iterator[Task]:
    """Yield the tasks of a controller, copied from the first NPU of each of its groups."""
    own: list[tuple[int, int, Task, bool]] = []
    for npu, tasks in enumerate(npus):
        for place, task in enumerate(tasks):
            members = {*task.inputs, *task.outputs}
            if controller in members and min(members) == npu:
                asked = controller in task.inputs and bool(task.after)
                own.append((place, npu, task, asked))
    # An NPU requests input before anything else. Weights at a controller belong to one group.
    own.sort(key=lambda one: one[:2])
    for place, (_, _, task, asked) in enumerate(own):
        yield replace(task, after=(place - 1,) if asked else ())
