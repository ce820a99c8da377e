"""Memory traffic of collectives: bytes that NPUs read and write to execute a schedule.

One rule serves all topologies and algorithms. A byte that an NPU sends is read from memory. If the
NPU received the byte before, an engine at the network interface (ACE, arXiv 2007.00156) has it in
its own SRAM instead, so that the engine reads each own byte once and writes each result once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .schedule import REDUCTIONS, Schedule
from .transfer import Transfer

__all__ = ["Traffic", "TrafficOf", "ace_traffic", "core_traffic"]


@dataclass(slots=True)
class Traffic:
    """Bytes that one NPU moves in a schedule.

    Parameters
    ----------
    sent, received : float
        Bytes on the network [B].
    read, written : float
        Bytes from and to memory [B].
    """

    sent: float = 0.0
    received: float = 0.0
    read: float = 0.0
    written: float = 0.0


TrafficOf = Callable[[Schedule, int], Mapping[int, Traffic]]
"""Function of this module that returns the traffic of each NPU, given a schedule and the number of
NPUs."""


def core_traffic(schedule: Schedule, npus: int) -> dict[int, Traffic]:
    """Return the traffic of each NPU if its cores run the collective.

    Cores read a complete value to send it. To send a partial sum they read their own contribution
    and each contribution received since the last send. All that is received is written. The own
    and the last contribution to a sum that is sent on when it is complete are not counted, as in
    the published form of a ring: (1 + 2 (n - 2) + (n - 1)) / (2 (n - 1)) reads per byte sent.

    Parameters
    ----------
    schedule : Schedule
        Built without lockstep.
    npus : int
        NPUs of the topology; other nodes have no traffic.

    Returns
    -------
    dict
        Traffic of each NPU that sends or receives.
    """
    found: defaultdict[int, Traffic] = defaultdict(Traffic)
    terms: dict[tuple[int, int], int] = {}  # terms of each unfinished sum at an NPU
    sizes: dict[int, float] = {}
    for step in _steps(schedule):
        for npu, shard, item, size in _moved(step, npus, lambda one: one.sources):
            one, key, sizes[shard] = found[npu], (npu, shard), size
            one.sent += size
            count = terms.get(key, 1)
            one.read += size * (count if item.action == "reduce" else max(1, count - 1))
            terms[key] = 1
        for npu, shard, item, size in _moved(step, npus, lambda one: one.targets):
            key, sizes[shard] = (npu, shard), size
            found[npu].received += size
            found[npu].written += size
            terms[key] = terms.get(key, 1) + 1 if item.action == "reduce" else 1
    for (npu, shard), count in terms.items():
        if count > 1:  # an unfinished sum at the end: all terms are read and the result is written
            found[npu].read += count * sizes[shard]
            found[npu].written += sizes[shard]
    return dict(found)


def ace_traffic(schedule: Schedule, npus: int) -> dict[int, Traffic]:
    """Return the traffic of each NPU if an engine keeps received data in its SRAM.

    The parameters are those of :func:`core_traffic`.
    """
    found: defaultdict[int, Traffic] = defaultdict(Traffic)
    unread, results = _unread(schedule), _results(schedule)
    summed: dict[tuple[int, int], float] = {}
    written: dict[tuple[int, int], float] = {}
    for step in _steps(schedule):
        for npu, shard, _, size in _moved(step, npus, lambda one: one.sources):
            found[npu].sent += size
            if (npu, shard) in unread:
                unread.discard((npu, shard))
                found[npu].read += size
                written[npu, shard] = size
        for npu, shard, item, size in _moved(step, npus, lambda one: one.targets):
            found[npu].received += size
            written[npu, shard] = size
            if item.action == "reduce":
                summed[npu, shard] = size
            else:
                unread.discard((npu, shard))
    for key, size in summed.items():
        if key in unread:  # the NPU's own contribution to a sum that it keeps
            found[key[0]].read += size
    for key, size in written.items():
        if key in results:
            found[key[0]].written += size
    return dict(found)


def _unread(schedule: Schedule) -> set[tuple[int, int]]:
    """Return the (NPU, shard) pairs whose values are in memory at the start."""
    if schedule.pattern in REDUCTIONS:
        return {(npu, s) for part in schedule.parts for npu in part.members for s in part.owners}
    return {(npu, shard) for part in schedule.parts for shard, npu in part.owners.items()}


def _results(schedule: Schedule) -> set[tuple[int, int]]:
    """Return the (NPU, shard) pairs whose results are not in memory at the start."""
    if schedule.pattern == "all_to_all":
        return {(npu, shard) for part in schedule.parts for shard, npu in part.receivers.items()}
    if schedule.pattern in ("reduce_scatter", "reduce"):
        return {(npu, shard) for part in schedule.parts for shard, npu in part.owners.items()}
    every = {(npu, s) for part in schedule.parts for npu in part.members for s in part.owners}
    return every if schedule.pattern == "all_reduce" else every - _unread(schedule)


def _steps(schedule: Schedule) -> Iterator[list[Transfer]]:
    """Yield groups of transfers that all send what their sources held before the group."""
    step: list[Transfer] = []
    for item in schedule.transfers:
        if step and (item.step < 0 or item.step != step[0].step):
            yield step
            step = []
        step.append(item)
    if step:
        yield step


def _moved(
    step: list[Transfer], npus: int, ends: Callable[[Transfer], Sequence[int]]
) -> Iterator[tuple[int, int, Transfer, float]]:
    """Yield what each NPU at one end of a step's transfers sends or receives, by shard."""
    for item in step:
        if item.hops:
            size = item.payload_bytes / len(item.shards)
            for npu in ends(item):
                if npu < npus:
                    yield from ((npu, shard, item, size) for shard in item.shards)
