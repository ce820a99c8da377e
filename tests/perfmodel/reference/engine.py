"""Discrete-event simulation of messages on links.

The model. A transfer is a tree of directed links and crosses them by virtual cut-through. The
head of a message starts on a link when the heads on all links before it have arrived (link
latency, plus that of the switch between) and the link is free; the link is then occupied for
bytes / bandwidth, and the tail leaves at the end of that, but not before the tails on all links
before it have arrived. Each link serves one message at a time; those that wait are served by
(priority, chunk, arrival), so that later chunks do not overtake earlier ones. A message that
finds a link free and nobody waiting takes it at once. Limits: service is message by message, with
no max-min sharing of a link, so a short message waits for a long one; a message that trickles in
more slowly than the link could carry it occupies the link for bytes / bandwidth only, counted
from its head, so that the rest is free for others (as packets of several messages would
interleave); switches have room for every chunk that waits, so nothing is held back upstream;
reduction takes no time of its own, its latency is that of the switch.

Times are whole femtoseconds inside, so that equal times are equal and results do not depend on
rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from perfmodel.topology.graph import Topology

from .plan import FEMTO, Batch, Plan, build_plan

__all__ = ["EngineResult", "simulate"]

_OP_BITS = 32
_RANK_BITS = 32
_OP_MASK = (1 << _OP_BITS) - 1
_LOW_BITS = _OP_BITS + _RANK_BITS
_LAST_RANK = ((1 << _RANK_BITS) - 1) << _OP_BITS


@dataclass(frozen=True)
class EngineResult:
    """What a simulation found.

    Parameters
    ----------
    finish_s : tuple of float
        Time at which the last transfer of each batch was complete [s].
    link_busy_s : tuple of float
        Time that each link was occupied [s], by link index.
    link_bytes : tuple of float
        Bytes that crossed each link [B], by link index.
    messages : int
        Messages on links that were simulated.
    """

    finish_s: tuple[float, ...]
    link_busy_s: tuple[float, ...]
    link_bytes: tuple[float, ...]
    messages: int
    plan: Plan = field(repr=False, compare=False)
    tails: list[int] = field(repr=False, compare=False)

    def completion_s(self, batch: int, chunk: int, transfer: int) -> float:
        """Return the time at which a transfer had reached all of its targets [s]."""
        return self.plan.completion(self.tails, batch, chunk, transfer) / FEMTO


def simulate(topology: Topology, batches: Sequence[Batch]) -> EngineResult:
    """Simulate transfers until all are complete.

    Parameters
    ----------
    topology : Topology
        The links.
    batches : sequence of Batch
        What to transfer; batches share the links.

    Raises
    ------
    ValueError
        A batch or a transfer is malformed.
    """
    plan = build_plan(topology, batches)
    tails = _run(plan, len(topology.links))
    finish = [
        max(
            (
                plan.completion(tails, number, chunk, transfer)
                for chunk in range(batch.chunks)
                for transfer in range(len(batch.transfers))
            ),
            default=round(batch.start_s * FEMTO),
        )
        for number, batch in enumerate(batches)
    ]
    busy = [0] * len(topology.links)
    for link, duration in zip(plan.link, plan.duration, strict=True):
        busy[link] += duration
    return EngineResult(
        finish_s=tuple(time / FEMTO for time in finish),
        link_busy_s=tuple(time / FEMTO for time in busy),
        link_bytes=_bytes_per_link(topology, batches),
        messages=len(plan.link),
        plan=plan,
        tails=tails,
    )


def _bytes_per_link(topology: Topology, batches: Sequence[Batch]) -> tuple[float, ...]:
    carried = [0.0] * len(topology.links)
    for batch in batches:
        for transfer in batch.transfers:
            for link, _ in transfer.hops:
                carried[link] += transfer.payload_bytes * batch.chunks
    return tuple(carried)


def _run(plan: Plan, links: int) -> list[int]:
    """Return the time at which the tail of each message left its link [fs].

    An event is one integer: time, rank (priority and chunk), and operation, which is a message on
    a link whose head is there, or, counted behind all operations, a link that becomes free. Those
    come last among the events of one time, so that messages arriving then compete for the link.
    """
    count = len(plan.link)
    link_of, duration, followers = plan.link, plan.duration, plan.followers
    ready, waits = plan.ready[:], plan.waits[:]
    low = [(rank << _OP_BITS) | op for op, rank in enumerate(plan.rank)]
    tail_in = [0] * count
    tails = [-1] * count
    free = [0] * links
    queues: list[list[int]] = [[] for _ in range(links)]
    arrivals = 0
    events = [(ready[op] << _LOW_BITS) | low[op] for op in range(count) if not waits[op]]
    heapify(events)
    while events:
        event = heappop(events)
        now = event >> _LOW_BITS
        op = event & _OP_MASK
        if op >= count:
            link = op - count
            queue = queues[link]
            op = heappop(queue) & _OP_MASK
            end = now + duration[op]
            if queue:
                heappush(events, (end << _LOW_BITS) | _LAST_RANK | (count + link))
        else:
            link = link_of[op]
            queue = queues[link]
            if queue or free[link] > now:
                if not queue:
                    wake = (free[link] << _LOW_BITS) | _LAST_RANK | (count + link)
                    heappush(events, wake)
                arrivals += 1
                rank = low[op] >> _OP_BITS
                heappush(queue, (((rank << 40) | arrivals) << _OP_BITS) | op)
                continue
            end = now + duration[op]
        free[link] = end
        tail = max(end, tail_in[op])
        tails[op] = tail
        for step, head_fs, tail_fs in followers[op]:
            then = op + step
            tail_there = tail + tail_fs
            if head_fs < 0:
                head_there = tail_there
            else:
                head_there = now + head_fs
                if tail_in[then] < tail_there:
                    tail_in[then] = tail_there
            if ready[then] < head_there:
                ready[then] = head_there
            waits[then] -= 1
            if not waits[then]:
                heappush(events, (ready[then] << _LOW_BITS) | low[then])
    return tails
