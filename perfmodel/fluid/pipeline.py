"""Time of a collective whose chunks go one after the other through the same flows.

The model. The vector is cut into equal chunks, and each goes through all flows. A flow starts when
those before it are complete, and ends a latency after its last byte has left its last link. Each of
its links serves it by itself, in an order that never changes: flows with fewer others before them
come first, then those earlier in the list. So what waits for one link does not hold up the others.

Chunks overlap, and the time is the longest of these:

* one chunk goes through all flows;
* for each link, a chunk has come to it, it has carried all bytes of all chunks without a pause, and
  what it has carried last has come to the end.

Links do serve without a pause where chunks are many, whatever their order within a chunk; the
tests hold both against a simulation of single messages.

Every term is a maximum or a minimum of sums of latencies and of bytes over bandwidths, so the time
never falls where a latency or a number of bytes grows, or where a bandwidth falls.
"""

from collections.abc import Sequence

from .flow import FluidFlow

__all__ = ["Pipeline"]


class Pipeline:
    """The flows of a vector, and the links that they share.

    Parameters
    ----------
    flows : sequence of FluidFlow
        Those of a vector of one byte; ``after`` points to earlier ones.
    capacities : sequence of float
        Payload bandwidth of each link [B/s].
    """

    def __init__(self, flows: Sequence[FluidFlow], capacities: Sequence[float]) -> None:
        self.flows = flows
        rank = [0] * len(flows)
        for number, flow in enumerate(flows):
            rank[number] = max((rank[before] + 1 for before in flow.after), default=0)
        self._order = sorted(range(len(flows)), key=rank.__getitem__)
        # Seconds on each link for each byte of the vector.
        self._ways = [
            [(link, load * flow.payload_bytes / capacities[link]) for link, load in flow.loads]
            for flow in flows
        ]
        self._busy: dict[int, float] = {}
        for way in self._ways:
            for link, seconds in way:
                self._busy[link] = self._busy.get(link, 0.0) + seconds

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time from the start to the last byte of the last chunk [s].

        Parameters
        ----------
        size_bytes, chunk_bytes : float
            The vector and a chunk of it, at most as much [B].
        """
        if not self.flows:
            return 0.0
        one_s, before = self._one(chunk_bytes)
        after = self._after(chunk_bytes)
        busiest_s = max(
            (before[link] + busy * size_bytes + after[link] for link, busy in self._busy.items()),
            default=0.0,
        )
        return max(one_s, busiest_s)

    def _one(self, chunk_bytes: float) -> tuple[float, dict[int, float]]:
        """Return the time of one chunk, and when it first comes to each link [s]."""
        free: dict[int, float] = {}
        reached: dict[int, float] = {}
        end = [0.0] * len(self.flows)
        for number in self._order:
            flow = self.flows[number]
            ready = max((end[before] for before in flow.after), default=0.0)
            last = ready
            for link, seconds in self._ways[number]:
                begin = free.get(link, 0.0)
                if begin < ready:
                    begin = ready
                free[link] = begin = begin + seconds * chunk_bytes
                if last < begin:
                    last = begin
                if reached.get(link, ready) >= ready:
                    reached[link] = ready
            end[number] = last + flow.latency_s
        return max(end), reached

    def _after(self, chunk_bytes: float) -> dict[int, float]:
        """Return how long a chunk needs at least from each link to its end [s]."""
        left: dict[int, float] = {}
        rest = [0.0] * len(self.flows)  # from the end of a flow to that of the chunk
        for number in reversed(range(len(self.flows))):
            flow = self.flows[number]
            after = rest[number] + flow.latency_s
            longest = 0.0
            for link, seconds in self._ways[number]:
                longest = max(longest, seconds)
                if left.get(link, after) >= after:
                    left[link] = after
            for before in flow.after:
                rest[before] = max(rest[before], after + longest * chunk_bytes)
        return left
