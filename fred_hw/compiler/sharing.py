"""Flows that share micro-switches, and the first level at which they do.

At level l, counted from 1, port p is on micro-switch p >> l of the subswitch that its flow is in,
and the port of a (de)multiplexer has that number to itself. So a pair of flows has one first level
at which it shares a micro-switch on either side, whatever the routing; it shares from there on.
Two flows that share at level l must have gone to different subswitches at one of levels 1 to l.
"""

from collections.abc import Iterable, Iterator, Sequence

from .flows import Flow

__all__ = ["Sharing"]


class Sharing:
    """First shared level of each pair of flows, as bit masks over the flows.

    Parameters
    ----------
    flows : sequence of Flow
        Flows, disjoint in inputs and in outputs.
    depth : int
        Levels K at which a flow chooses a subswitch.
    """

    def __init__(self, flows: Sequence[Flow], depth: int) -> None:
        self.count, self.depth = len(flows), depth
        near = [0] * self.count
        self.exact: list[list[int]] = [near]
        """``exact[l][f]``: the flows that first share with f at level l; none at level 0."""
        for level in range(1, depth + 1):
            users: dict[tuple[int, int], int] = {}
            switches = [tuple(_switches(flow, level)) for flow in flows]
            for index, own in enumerate(switches):
                for switch in own:
                    users[switch] = users.get(switch, 0) | 1 << index
            wider = []
            for index, own in enumerate(switches):
                mask = 0
                for switch in own:
                    mask |= users[switch]
                wider.append(mask & ~(1 << index))
            self.exact.append([new & ~old for new, old in zip(wider, near, strict=True)])
            near = wider
        self.near = near
        """``near[f]``: the flows that share with f at any level."""

    def components(self) -> Iterator[tuple[int, ...]]:
        """Yield sets of flows that share nothing with the flows of other sets."""
        left = (1 << self.count) - 1
        while left:
            found, front = 0, left & -left
            while front:
                found |= front
                front = self._neighbours(front) & ~found
            yield tuple(bits(found))
            left &= ~found

    def core(self, middle_switches: int) -> tuple[list[int], list[int]]:
        """Return the flows that can be in a conflict, and the others in the order they came off.

        A flow that shares at level l with another loses at most one in m**l of its paths to it. If
        it does not lose all to all others, it fits whatever they do, so no conflict needs it; and
        so on with the rest. Placed in reverse order, those that came off always find a path.
        """
        left, easy = (1 << self.count) - 1, []
        while True:
            for flow in bits(left):
                lost = sum(
                    (masks[flow] & left).bit_count() * middle_switches ** (self.depth - level)
                    for level, masks in enumerate(self.exact)
                )
                if lost < middle_switches**self.depth:
                    easy.append(flow)
                    left &= ~(1 << flow)
                    break
            else:
                return list(bits(left)), easy

    def clique(self, size: int, flows: Iterable[int]) -> tuple[int, ...]:
        """Return the first ``size`` of ``flows`` that share at level 1 in pairs; empty if none."""
        pairs = self.exact[1] if self.depth else self.exact[0]

        def grow(members: tuple[int, ...], candidates: int) -> tuple[int, ...]:
            if len(members) == size:
                return members
            for flow in bits(candidates):
                later = candidates & pairs[flow] & (-2 << flow)
                found = grow((*members, flow), later)
                if found:
                    return found
            return ()

        return grow((), sum(1 << flow for flow in flows))

    def _neighbours(self, mask: int) -> int:
        found = 0
        for flow in bits(mask):
            found |= self.near[flow]
        return found


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits set in ``mask``, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _switches(flow: Flow, level: int) -> Iterator[tuple[int, int]]:
    """Yield side and number of the micro-switches of a flow at a level; some more than once."""
    for port in flow.inputs:
        yield 0, port >> level
    for port in flow.outputs:
        yield 1, port >> level
