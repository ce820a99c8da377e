"""Golden model of unicast collectives: final memory contents.

It knows what docs/reference/endpoint.md says of descriptors, not how they were made: no cycles, no
flits. A ring adds in its order, so floating-point results compare bit by bit.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.operations import Buffer, Descriptor, block_of

__all__ = ["carry_out", "contributions"]

Memory = NDArray[Any]
_Queues = dict[tuple[int, str], deque[Descriptor]]


def carry_out(
    jobs: Mapping[int, Sequence[Descriptor]],
    memories: Sequence[Memory],
    flit_bytes: int,
    reduce: Callable[[Memory, Memory], Memory],
) -> list[Memory]:
    """Return the memories after all descriptors have run, in order per virtual channel.

    Parameters
    ----------
    jobs : mapping of int to sequence of Descriptor
        Descriptors queued by each NPU; flows are unicasts, and addresses numbers of NPUs.
    memories : sequence of array
        Contents before, a row for each flit.
    flit_bytes : int
        Bytes of a flit.
    reduce : Callable
        Reduction of two, the received operand first.

    Raises
    ------
    ValueError
        Some descriptors deadlock.
    """
    found = [memory.copy() for memory in memories]
    queues: _Queues = defaultdict(deque)
    for npu, own in jobs.items():
        for one in own:
            queues[npu, one.circuit].append(one)
    halves: set[tuple[int, str, bool]] = set()  # ends of exchanges at the heads: sent, received
    while any(queues.values()):
        moved = False
        for (npu, circuit), queue in list(queues.items()):
            if not queue:
                continue
            if queue[0].ring:
                moved = _ring(npu, circuit, queues, found, flit_bytes, reduce) or moved
            else:
                moved = _exchange(npu, circuit, queues, halves, found, flit_bytes) or moved
        if not moved:
            left = sorted(key for key, queue in queues.items() if queue)
            raise ValueError(f"jobs must come to an end, not wait for ever at {left}")
    return found


def _rows(buffer: Buffer, flit_bytes: int) -> slice:
    return slice(buffer.address // flit_bytes, (buffer.address + buffer.size) // flit_bytes)


def _ring(
    npu: int,
    circuit: str,
    queues: _Queues,
    memories: list[Memory],
    flit_bytes: int,
    reduce: Callable[[Memory, Memory], Memory],
) -> bool:
    """Run a ring if all members have reached it."""
    members, jobs = [npu], [queues[npu, circuit][0]]
    while (send := jobs[-1].send) is not None and send.number != npu:
        queue = queues[send.number, circuit]
        if not queue or queue[0].receive is None or queue[0].receive.number != members[-1]:
            return False
        members.append(send.number)
        jobs.append(queue[0])
    ring = jobs[0].ring
    assert ring is not None
    count = len(members)
    ranks = [one.ring.rank if one.ring else -1 for one in jobs]
    if sorted(ranks) != list(range(count)) or {one.operation for one in jobs} != {
        jobs[0].operation
    }:
        return False
    at = dict(zip(ranks, range(count), strict=True))
    before = [memory.copy() for memory in memories]
    for rank in range(count):

        def rows(place: int, of: str, rank: int = rank) -> slice:
            block = block_of(getattr(jobs[at[place % count]], of), count, rank, flit_bytes)
            return _rows(block, flit_bytes)

        def own(place: int) -> Memory:
            return before[members[at[place % count]]][rows(place, "source")]

        value = own(rank)
        if jobs[0].operation != "all_gather":
            value = own(rank + 1)
            for distance in range(2, count + 1):
                value = reduce(value, own(rank + distance))
        for place in range(count):
            gets = {"all_reduce": True, "reduce_scatter": place == rank}
            if gets.get(jobs[0].operation, place != rank):
                memories[members[at[place]]][rows(place, "destination")] = value
    for one in members:
        queues[one, circuit].popleft()
    return True


def _exchange(
    npu: int,
    circuit: str,
    queues: _Queues,
    halves: set[tuple[int, str, bool]],
    memories: list[Memory],
    flit_bytes: int,
) -> bool:
    """Run the send at the head of a queue, if its destination has reached it."""
    job, moved = queues[npu, circuit][0], False
    if job.send is not None and job.source.size and (npu, circuit, False) not in halves:
        other = job.send.number
        queue = queues[other, circuit]
        mine = queue and not queue[0].ring and queue[0].receive is not None
        if mine and queue[0].receive.number == npu and (other, circuit, True) not in halves:  # pyright: ignore[reportOptionalMemberAccess]
            target = _rows(queue[0].destination, flit_bytes)
            memories[other][target] = memories[npu][_rows(job.source, flit_bytes)]
            halves |= {(npu, circuit, False), (other, circuit, True)}
            moved = True
    for one in {npu, job.send.number if job.send else npu}:
        moved = _finished(one, circuit, queues, halves) or moved
    return moved


def _finished(npu: int, circuit: str, queues: _Queues, halves: set[tuple[int, str, bool]]) -> bool:
    """Remove an exchange from its queue if both halves are done."""
    queue = queues[npu, circuit]
    if not queue or queue[0].ring:
        return False
    one = queue[0]
    sent = one.send is None or not one.source.size or (npu, circuit, False) in halves
    came = one.receive is None or not one.destination.size or (npu, circuit, True) in halves
    if sent and came:
        queue.popleft()
        halves -= {(npu, circuit, False), (npu, circuit, True)}
    return sent and came


def contributions(a: Memory, b: Memory) -> Memory:
    """Return the union of two sets of NPUs (as bits), which must be disjoint.

    Raises
    ------
    ValueError
        One comes twice.
    """
    if np.any(a & b):
        raise ValueError("a contribution must come once, not twice")
    return a | b
