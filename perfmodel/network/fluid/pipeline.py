"""Time of a collective whose chunks pass through the same flows in a pipeline.

The model. The vector is cut into equal chunks, and each goes through all flows. A flow starts when
those before it are complete, and ends a latency after its last byte has left its last link. Each of
its links serves it by itself, in an order that never changes: flows with fewer others before them
come first, then those earlier in the list. So what waits for one link does not hold up the others.

Chunks overlap, and the time is the longest of these:

* one chunk goes through all flows;
* for each link, and any of the flows on it, a chunk has come to the first of them, the link has
  carried all bytes of theirs of all chunks without a pause, and what it has carried last of them
  has come to the end.

Some of the flows of a link may take longer than all: those that come late and leave long before the
end, where others fill in before and behind them. Links do serve without a pause where chunks are
many, whatever their order within a chunk; the tests hold both against a simulation of single
messages.

Every term is a maximum or a minimum of sums of latencies and of bytes over bandwidths, so the time
never falls where a latency or a number of bytes grows, or where a bandwidth falls. Nor does it fall
where flows are added that nothing waits for: what was some flows of a link still is.
"""

from bisect import insort
from collections.abc import Sequence

from fred_hw.progress import track

from .flow import FluidFlow

__all__ = ["Pipeline"]


class Pipeline:
    """The flows of a vector, and the links they share.

    Parameters
    ----------
    flows : sequence of FluidFlow
        Flows of a vector of one byte; ``after`` refers to earlier flows.
    capacities : sequence of float
        Payload bandwidth of each link [B/s].
    """

    def __init__(self, flows: Sequence[FluidFlow], capacities: Sequence[float]) -> None:
        self._after = [flow.after for flow in flows]
        self._late_s = [flow.latency_s for flow in flows]
        rank = [0] * len(flows)
        for number, flow in enumerate(flows):
            rank[number] = max((rank[before] + 1 for before in flow.after), default=0)
        self._order = sorted(range(len(flows)), key=rank.__getitem__)
        # Seconds on each link for each byte of the vector; many flows have the same.
        known: dict[float, dict[tuple[int, float], tuple[int, float]]] = {}
        self._link_times: list[list[tuple[int, float]]] = []
        users: dict[int, tuple[list[int], list[float]]] = {}
        for number, flow in enumerate(track(flows, "flows")):
            payload_bytes = flow.payload_bytes
            seconds_of, on_links = known.setdefault(payload_bytes, {}), list[tuple[int, float]]()
            for one in flow.loads:
                pair = seconds_of.get(one)
                if pair is None:
                    link, load = one
                    pair = seconds_of[one] = link, load * payload_bytes / capacities[link]
                on_links.append(pair)
                link, seconds = pair
                user = users.get(link)
                if user is None:
                    user = users[link] = ([], [])
                user[0].append(number)
                user[1].append(seconds)
            self._link_times.append(on_links)
        # Links that serve the same flows for as long are busy alike: one stands for all of them.
        alike = dict.fromkeys((tuple(some), tuple(seconds)) for some, seconds in users.values())
        self._links = [_Link(*one) for one in alike]

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time from the start to the last byte of the last chunk [s].

        Parameters
        ----------
        size_bytes, chunk_bytes : float
            The vector and a chunk of it, at most as much [B].
        """
        if not self._link_times:
            return 0.0
        longest_s, ready = self._one(chunk_bytes)
        after = self._rest(chunk_bytes)
        for link in self._links:
            longest_s = max(longest_s, link.time_s(size_bytes, ready, after))
        if size_bytes > chunk_bytes:  # one chunk has been all the way already
            for link in track(self._links, "links"):
                longest_s = link.longer_s(size_bytes, ready, after, longest_s)
        return longest_s

    def _one(self, chunk_bytes: float) -> tuple[float, list[float]]:
        """Return the time of one chunk, and the start of each of its flows [s]."""
        free: dict[int, float] = {}
        start, end = [0.0] * len(self._link_times), [0.0] * len(self._link_times)
        for number in self._order:
            ready = 0.0
            for before in self._after[number]:
                if ready < end[before]:
                    ready = end[before]
            start[number] = last = ready
            for link, seconds in self._link_times[number]:
                begin = free.get(link, 0.0)
                if begin < ready:
                    begin = ready
                free[link] = begin = begin + seconds * chunk_bytes
                if last < begin:
                    last = begin
            end[number] = last + self._late_s[number]
        return max(end), start

    def _rest(self, chunk_bytes: float) -> list[float]:
        """Return how long a chunk needs at least from the links of each flow to its end [s]."""
        left = [0.0] * len(self._link_times)
        rest = [0.0] * len(self._link_times)  # from the end of a flow to that of the chunk
        for number in reversed(range(len(self._link_times))):
            left[number] = after = rest[number] + self._late_s[number]
            longest = 0.0
            for _, seconds in self._link_times[number]:
                if longest < seconds:
                    longest = seconds
            least = after + longest * chunk_bytes
            for before in self._after[number]:
                if rest[before] < least:
                    rest[before] = least
        return left


class _Link:
    """Flows that one link serves.

    Parameters
    ----------
    flows : tuple of int
        Flows that cross the link.
    seconds : tuple of float
        Time of each flow on the link, for each byte of the vector [s].
    """

    def __init__(self, flows: tuple[int, ...], seconds: tuple[float, ...]) -> None:
        self._flows, self._seconds = flows, seconds
        self._busy = 0.0
        for one in seconds:
            self._busy += one

    def time_s(self, size_bytes: float, ready: Sequence[float], after: Sequence[float]) -> float:
        """Return the time until the last byte that crosses the link reaches its destination [s].

        Parameters
        ----------
        size_bytes : float
            The vector [B].
        ready, after : sequence of float
            Time at which each flow of the first chunk reaches its links, and time that each flow of
            the last chunk needs from there [s].
        """
        first = min(map(ready.__getitem__, self._flows))
        last = min(map(after.__getitem__, self._flows))
        return first + self._busy * size_bytes + last

    def longer_s(
        self, size_bytes: float, ready: Sequence[float], after: Sequence[float], known_s: float
    ) -> float:
        """Return the largest such bound over subsets of the flows, at least ``known_s`` [s].

        Of those that come at a time or later, and from which at least so much time is left to the
        end, to leave out any more only takes bytes away; so it is enough to try these sets.
        """
        flows, busy_s = self._flows, self._busy * size_bytes
        if busy_s + max([ready[one] + after[one] for one in flows]) <= known_s:
            return known_s
        busy: dict[tuple[float, float], float] = {}
        for one, seconds in zip(flows, self._seconds, strict=True):
            key = (ready[one], after[one])
            busy[key] = busy.get(key, 0.0) + seconds * size_bytes
        # The last to come first; so far those that leave the longest before the end first.
        rest = sorted(busy.items(), reverse=True)
        come: list[tuple[float, float]] = []
        come_s = 0.0
        for place, ((first, left), one_s) in enumerate(rest, start=1):
            insort(come, (-left, one_s))
            come_s += one_s
            if place < len(rest) and rest[place][0][0] == first:
                continue
            if first + come_s - come[0][0] <= known_s:
                continue
            total_s = first
            # All of them together are known.
            for minus, one_s in come[:-1] if place == len(rest) else come:
                total_s += one_s
                if known_s < total_s - minus:
                    known_s = total_s - minus
        return known_s
