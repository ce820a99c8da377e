"""The engine's view of transfers: flat lists with one entry for each message on a link."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfmodel.collectives.transfer import Transfer
from perfmodel.topology.graph import Topology

__all__ = ["FEMTO", "Batch", "Plan", "build_plan"]

FEMTO = 10**15
"""Femtoseconds in a second, the engine's unit of time."""

Follower = tuple[int, int, int]
"""Distance to an operation that waits for this one, and when its head and its tail are there.

The second is the delay of the head [fs], or -1 if the other waits for the tail, as a transfer does
for those before it. The third is the delay of the tail [fs].
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Transfers that start together, repeated for each chunk of the data.

    Parameters
    ----------
    transfers : tuple of Transfer
        Those of one chunk; ``after`` counts in this list. Chunks do not wait for each other.
    chunks : int
        Copies, 1 or more.
    priority : int
        Of all its messages; a lower number goes first.
    start_s : float
        Time at which transfers without ``after`` may start [s].
    """

    transfers: tuple[Transfer, ...]
    chunks: int = 1
    priority: int = 0
    start_s: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Operations (messages on links) of all batches, chunk after chunk.

    Parameters
    ----------
    link, duration, rank : list of int
        Link of each operation, time that it occupies it [fs], and place of its batch and chunk in
        the order of service.
    ready, waits : list of int
        Earliest start [fs], and number of operations that it follows.
    followers : list of list
        Operations that follow it.
    first : list of int
        First operation of each batch.
    size : list of int
        Operations in a chunk of each batch.
    last : list
        For each batch and transfer, operations that end at a target, counted in the chunk, and
        latency of their link [fs].
    """

    link: list[int]
    duration: list[int]
    rank: list[int]
    ready: list[int]
    waits: list[int]
    followers: list[tuple[Follower, ...]]
    first: list[int]
    size: list[int]
    last: list[list[tuple[tuple[int, int], ...]]]

    def completion(self, tails: list[int], batch: int, chunk: int, transfer: int) -> int:
        """Return the time at which all targets of a transfer have its tail [fs]."""
        base = self.first[batch] + chunk * self.size[batch]
        return max(tails[base + op] + latency for op, latency in self.last[batch][transfer])


class _Template:
    """Operations of one chunk of a batch."""

    def __init__(self, topology: Topology, transfers: Sequence[Transfer]) -> None:
        self.topology = topology
        self.link: list[int] = []
        self.duration: list[int] = []
        self.waits: list[int] = []
        self.followers: list[list[Follower]] = []
        self.arrivals: list[dict[int, tuple[int, int]]] = []
        self._transfers = transfers
        self._delay = [round(link.latency_s * FEMTO) for link in topology.links]
        self._cross = [round(node.latency_s * FEMTO) for node in topology.nodes]
        for number, transfer in enumerate(transfers):
            self._add(number, transfer)

    def _add(self, number: int, transfer: Transfer) -> None:
        links, base = self.topology.links, len(self.link)
        arrivals: dict[int, tuple[int, int]] = {}
        wanted = set(transfer.targets)
        roots = {links[index].source for index, before in transfer.hops if not before}
        if roots != set(transfer.sources) or transfer.payload_bytes < 0:
            raise ValueError(f"transfer {number} must leave all its sources, with 0 or more bytes")
        for position, (index, before) in enumerate(transfer.hops):
            link = links[index]
            op = base + position
            self.link.append(index)
            self.duration.append(round(transfer.payload_bytes / link.payload_bytes_per_s * FEMTO))
            self.waits.append(0)
            self.followers.append([])
            for hop in before:
                earlier = transfer.hops[hop][0]
                if hop >= position or links[earlier].target != link.source:
                    raise ValueError(f"transfer {number} must cross links that meet")
                delay = self._delay[earlier] + self._cross[link.source]
                self._follow(base + hop, op, delay, delay)
            if not before:
                self._wait(number, transfer, op, link.source)
            if link.target in wanted:
                arrivals[link.target] = (op, self._delay[index])
        if set(arrivals) != wanted:
            raise ValueError(f"transfer {number} must reach all of its targets")
        self.arrivals.append(arrivals)

    def _wait(self, number: int, transfer: Transfer, op: int, source: int) -> None:
        """Let the first operation at ``source`` wait for the transfers before this one."""
        for earlier in transfer.after:
            if not 0 <= earlier < number:
                raise ValueError(f"transfer {number} must come after what it waits for")
            arrivals = self.arrivals[earlier]
            if source in arrivals:
                ends = [arrivals[source]]
            elif any(other in arrivals for other in transfer.sources):
                ends = []
            else:
                ends = list(arrivals.values())
            for end, delay in ends:
                self._follow(end, op, -1, delay)

    def _follow(self, earlier: int, op: int, head_fs: int, tail_fs: int) -> None:
        self.followers[earlier].append((op - earlier, head_fs, tail_fs))
        self.waits[op] += 1


def build_plan(topology: Topology, batches: Sequence[Batch]) -> Plan:
    """Return the operations of all batches.

    Raises
    ------
    ValueError
        A transfer has no route or a broken one, waits for a later one, or a batch has no chunk.
    """
    plan = Plan([], [], [], [], [], [], [], [], [])
    order = sorted({(b.priority, chunk) for b in batches for chunk in range(b.chunks)})
    ranks = {key: rank for rank, key in enumerate(order)}
    for batch in batches:
        if batch.chunks < 1 or batch.start_s < 0:
            raise ValueError("a batch must have 1 or more chunks and start at 0 or later")
        template = _Template(topology, batch.transfers)
        size, chunks = len(template.link), batch.chunks
        plan.first.append(len(plan.link))
        plan.size.append(size)
        plan.last.append([tuple(ends.values()) for ends in template.arrivals])
        plan.link.extend(template.link * chunks)
        plan.duration.extend(template.duration * chunks)
        plan.waits.extend(template.waits * chunks)
        plan.followers.extend([tuple(f) for f in template.followers] * chunks)
        plan.ready.extend([round(batch.start_s * FEMTO)] * (size * chunks))
        for chunk in range(chunks):
            plan.rank.extend([ranks[batch.priority, chunk]] * size)
    return plan
