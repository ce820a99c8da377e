"""Time of transfers between NPUs and remote memory.

In a hierarchical pool (after ASTRA-sim 2.0, arXiv 2303.14006, section IV-D) data go in pieces from
a group of memory through a switch between the nodes and the fabric of a node to the NPU. Each of
the three stages works on a piece while the next one has the piece before. With p a piece, b the
rate of a lane, l the lanes of a stage and B what crosses it,

    T = latency + sum of p / b + the largest of (B / l - p) / b, 0 or more,

which is ``sum(stages) + (pieces - 1) * max(stages)`` where all stages have equally many lanes. So
nothing is faster than any stage, and no time falls where bytes grow or a rate falls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .file import MemoryFile

__all__ = ["Access", "MemoryLink", "Tier"]

MemoryLink = tuple[str, int]
"""A memory link: ``pool`` and 0, ``node`` and its number, or ``npu`` and its number."""


@dataclass(frozen=True, slots=True)
class Access:
    """Concurrent loads or stores of several NPUs: their duration and link loads.

    Parameters
    ----------
    time_ns : float
        Alone [ns].
    loads : mapping
        Bytes that cross each link [B]; where requests are served one after the other, with those
        that it could have carried in their latencies.
    """

    time_ns: float
    loads: Mapping[MemoryLink, float]


class Tier:
    """Memory outside the NPUs.

    Parameters
    ----------
    file : MemoryFile
        Description of the memory, which must exist.
    """

    def __init__(self, file: MemoryFile) -> None:
        assert file.remote_mem_bw is not None
        self.file, self._bytes_per_ns = file, file.remote_mem_bw

    def bytes_per_ns(self, link: MemoryLink) -> float:
        """Return the total rate of all lanes of a link [bytes per ns]."""
        lanes, rate = self._lanes(link[0])
        return lanes * rate

    def access(self, groups: Sequence[Sequence[int]], bytes_each: float) -> Access:
        """Return the access in which each NPU of the given groups moves equally many bytes.

        Members of a group load the same data, or store data that is reduced.

        Parameters
        ----------
        groups : sequence of sequence of int
            NPUs of each group.
        bytes_each : float
            Bytes of each NPU [B], 0 or more.
        """
        if self.file.hierarchical:
            return self._pooled(groups, bytes_each)
        latency_ns, rate = self.file.remote_mem_latency, self._bytes_per_ns
        loads: dict[MemoryLink, float] = {}
        for npu in (npu for group in groups for npu in group):
            link = self._port(npu)
            loads[link] = loads.get(link, 0.0) + bytes_each + latency_ns * rate
        longest_ns = max(loads.values(), default=0.0) / rate
        return Access(longest_ns, loads)

    def _port(self, npu: int) -> MemoryLink:
        """Return the port that serves an NPU's requests serially."""
        if self.file.per_node:
            return "node", npu // (self.file.num_npus_per_node or 1)
        return ("npu", npu) if self.file.per_npu else ("pool", 0)

    def _lanes(self, stage: str) -> tuple[int, float]:
        """Return the number of lanes of a link, and the rate of each lane [bytes per ns]."""
        file = self.file
        if not file.hierarchical:
            return 1, self._bytes_per_ns
        if stage == "pool":
            return file.groups or 1, self._bytes_per_ns
        if stage == "node":
            return file.switches or 1, file.out_node_bw or 0.0
        return 1, file.in_node_bw or 0.0

    def _pooled(self, groups: Sequence[Sequence[int]], bytes_each: float) -> Access:
        file, loads = self.file, dict[MemoryLink, float]()
        for group in groups:
            nodes = [npu // (file.num_npus_per_node or 1) for npu in group]
            copied = bool(file.in_switch)
            for node in dict.fromkeys(nodes) if copied else nodes:
                loads["node", node] = loads.get(("node", node), 0.0) + bytes_each
            whole = bytes_each if copied else bytes_each * len(group)
            loads["pool", 0] = loads.get(("pool", 0), 0.0) + whole
            for npu in group:
                loads["npu", npu] = loads.get(("npu", npu), 0.0) + bytes_each
        piece = min(file.piece_size or 1, bytes_each)
        time_ns = float(file.remote_mem_latency)
        rest_ns = 0.0
        for stage in ("pool", "node", "npu"):
            lanes, rate = self._lanes(stage)
            most = max((count for (kind, _), count in loads.items() if kind == stage), default=0.0)
            time_ns += piece / rate
            rest_ns = max(rest_ns, (most / lanes - piece) / rate)
        return Access(time_ns + rest_ns, loads)
