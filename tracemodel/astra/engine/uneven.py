"""Uneven all-to-alls, in which ranks or peers differ in bytes.

ASTRA-sim has none. Here each NPU sends one message to each other NPU once all of them have arrived,
regardless of algorithms and chunks in the system file. With equal sizes that takes as long as a
direct all-to-all in one chunk.
"""

from collections import Counter
from collections.abc import Sequence

from tracemodel.chakra.kinds import NodeType

from .job import Job
from .operation import Operation, Unit, What
from .trace import Trace

__all__ = ["exchange_traces", "shares", "uneven_groups"]


def uneven_groups(job: Job) -> frozenset[str]:
    """Return the groups of a job with uneven all-to-alls; an empty name stands for all ranks.

    They are uneven if a node of one says so by ``comm_sizes``, or if the bytes of all-to-alls are
    not the same in all traces that have any in that group.
    """
    known: dict[int, dict[str, Counter[int]]] = {}
    sizes: dict[str, Counter[int]] = {}
    found: set[str] = set()
    for trace in job.traces:
        key = id(trace.operations)
        if key not in known:
            known[key] = {}
            for one in trace.nodes:
                if one.what.collective == "all_to_all":
                    known[key].setdefault(one.what.group, Counter())[one.what.bytes] += 1
                    if one.what.sizes is not None:
                        found.add(trace.names.get(one.what.group, one.what.group))
        for name, own in known[key].items():
            name = trace.names.get(name, name)
            if sizes.setdefault(name, own) != own:
                found.add(name)
    return frozenset(found)


def shares(what: What, count: int) -> tuple[int, ...]:
    """Return the bytes that a rank sends to each participating rank.

    Parameters
    ----------
    what : What
        Request of its all-to-all.
    count : int
        Number of participating ranks.

    Raises
    ------
    ValueError
        There are sizes for another number of ranks.
    """
    if what.sizes is None:
        return (what.bytes // count,) * count
    if len(what.sizes) != count:
        raise ValueError(
            f"must be {count}, one for each rank that takes part, not {len(what.sizes)}"
        )
    return what.sizes


def exchange_traces(sizes: Sequence[Sequence[int]], endpoint_ns: int) -> list[Trace]:
    """Return an all-to-all as traces of the participating ranks, by position.

    Parameters
    ----------
    sizes : sequence of sequence of int
        Bytes that each gives to each; what it gives to itself is not sent.
    endpoint_ns : int
        Delay before the messages and after the last [ns].
    """
    count = len(sizes)
    delay = What(NodeType.COMP_NODE, Unit.COMPUTE, endpoint_ns)
    found: list[Trace] = []
    for place in range(count):
        nodes = [Operation(0, delay)] if count > 1 else []
        received: list[int] = []
        for offset in range(1, count):
            target, source = (place + offset) % count, (place - offset) % count
            if size := sizes[place][target]:
                send = What(NodeType.COMM_SEND_NODE, Unit.COMMUNICATION, bytes=size, target=target)
                nodes.append(Operation(len(nodes), send, (0,)))
            if size := sizes[source][place]:
                receive = What(NodeType.COMM_RECV_NODE, Unit.NONE, bytes=size, source=source)
                received.append(len(nodes))
                nodes.append(Operation(len(nodes), receive))
        if received:
            nodes.append(Operation(len(nodes), delay, tuple(received)))
        found.append(Trace("", tuple(nodes), {one.id: one for one in nodes}))
    return found
