"""Timeline of a run of traces in the Chrome trace event format, which Perfetto opens.

Format: "Trace Event Format", Google, 2016, as in ``perfmodel.training.trace``.
"""

from collections.abc import Sequence

from tracemodel.chakra.files import read
from tracemodel.chakra.kinds import MEMORY_NODES, NodeType
from tracemodel.chakra.traces import find_traces

from .engine.operation import Operation, Unit, kind_of
from .engine.record import Span

__all__ = ["node_names", "trace_timeline"]

_THREADS = ("compute", "CPU", "communication", "receive", "memory")


def node_names(workload: str) -> list[dict[int, str]]:
    """Return the names of the nodes of each rank, by their numbers.

    Raises
    ------
    InputError
        A trace is bad.
    """
    found: list[dict[int, str]] = []
    for path in find_traces(workload):
        with read(path) as nodes:
            found.append({node.id: node.name for node in nodes})
    return found


def trace_timeline(
    spans: Sequence[Span], names: Sequence[dict[int, str]], title: str
) -> dict[str, object]:
    """Return a JSON object with a process for each rank and a thread for each kind of node.

    Nodes of a kind that are under way at once, such as receives, have further threads. Nodes that
    end where they begin and keep no unit busy are left out.

    Parameters
    ----------
    spans : sequence of Span
        Nodes that have run.
    names : sequence of dict
        Names of the nodes, by rank and number.
    title : str
        Title of the timeline, for people to read.
    """
    events: list[dict[str, object]] = []
    threads: dict[tuple[int, int], None] = {}
    free_ns: dict[tuple[int, int], int] = {}  # end of the last node on each thread of a rank
    for rank, one, begin_ns, end_ns in sorted(spans, key=lambda span: span[2:]):
        if one.at_once:
            continue
        thread = _thread(one)
        while free_ns.get((rank, thread), 0) > begin_ns:
            thread += len(_THREADS)
        free_ns[rank, thread] = end_ns
        threads[rank, thread] = None
        kind = one.what.collective or kind_of(one)
        events.append(
            {
                "ph": "X",
                "name": names[rank].get(one.id) or f"node {one.id}",
                "cat": kind,
                "pid": rank,
                "tid": thread,
                "ts": begin_ns / 1000,
                "dur": (end_ns - begin_ns) / 1000,
                "args": {"node": one.id, "kind": kind, "bytes": one.what.bytes},
            }
        )
    labels: list[dict[str, object]] = []
    for rank in dict.fromkeys(rank for rank, _ in sorted(threads)):
        name = {"name": f"rank {rank}"}
        labels.append({"ph": "M", "name": "process_name", "pid": rank, "args": name})
    for rank, thread in sorted(threads):
        name = {"name": _label(thread)}
        labels.append({"ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": name})
    return {
        "traceEvents": labels + events,
        "displayTimeUnit": "ns",
        "otherData": {"title": title},
    }


def _thread(one: Operation) -> int:
    """Return the thread of an operation: an index into ``_THREADS``."""
    if one.what.type in MEMORY_NODES:
        return 4
    if one.what.type == NodeType.COMM_RECV_NODE:
        return 3
    return {Unit.COMPUTE: 0, Unit.CPU: 1}.get(one.what.unit, 2)


def _label(thread: int) -> str:
    number, kind = divmod(thread, len(_THREADS))
    return f"{_THREADS[kind]} {number + 1}" if number else _THREADS[kind]
