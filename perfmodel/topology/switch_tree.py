"""Routes through a tree of switches."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from .graph import Hops

__all__ = ["SwitchTree"]

_MOST_KNOWN = 1 << 14
"""Flows whose links between switches are kept; all pairs of 128 switches."""


class SwitchTree:
    """A tree of switches, given as the parent of each switch but the root.

    Parameters
    ----------
    above : dict of int to int
        Parent of each switch; the root has no entry. Empty for one switch.
    switch_of : mapping
        Switch that each other node hangs on.
    link_index : mapping
        Index of the link from one node to another.
    """

    def __init__(
        self,
        above: dict[int, int],
        switch_of: Mapping[int, int],
        link_index: Mapping[tuple[int, int], int],
    ) -> None:
        self._switch_of, self._link_index = switch_of, link_index
        self._known: dict[
            tuple[tuple[int, ...], tuple[int, ...]], tuple[Hops, Sequence[tuple[int, ...]]]
        ] = {}
        self._chains: dict[int, tuple[int, ...]] = {}
        for switch in {*above, *above.values()}:
            chain = [switch]
            while chain[-1] in above:
                chain.append(above[chain[-1]])
            self._chains[switch] = tuple(chain)

    def meeting(self, sources: Iterable[int], targets: Iterable[int]) -> int:
        """Return the switch where flows from some switches join before they fork to others.

        It is the lowest common ancestor of the targets if that is below that of the sources, and
        that of the sources otherwise, so flows rise no higher than necessary.
        """
        joins, forks = self._common(sources), self._common(targets)
        return forks if joins in self._chain(forks) else joins

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the links of a flow: reduce over ``sources``, distribute to ``targets``.

        Each switch reduces the data from below it, as far up as necessary: data that only one
        switch has above it is reduced there, and data does not return to a switch from above. A
        route from one node to another is the flow of one source and one target.

        Parameters
        ----------
        sources, targets : sequence of int
            Nodes that hang on switches of the tree.
        """
        switch_of = self._switch_of
        joins = tuple([switch_of[source] for source in sources])
        forks = tuple([switch_of[target] for target in targets])
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        known = self._known.get((joins, forks))
        if known is None:
            known = self._known[joins, forks] = self._trunk(joins, forks)
        trunk, brought = known
        index = self._link_index
        first = [(index[ends], ()) for ends in zip(sources, joins, strict=True)]
        last = [
            (index[ends], before)
            for ends, before in zip(zip(forks, targets, strict=True), brought, strict=True)
        ]
        return (*first, *trunk, *last)

    def _trunk(
        self, joins: Sequence[int], forks: Sequence[int]
    ) -> tuple[Hops, Sequence[tuple[int, ...]]]:
        """Return the links between switches, and the hops that bring the data to each target.

        Parameters
        ----------
        joins, forks : sequence of int
            Switch of each source and of each target.
        """
        index, first = self._link_index, len(joins)
        trunk: list[tuple[int, tuple[int, ...]]] = []

        def add(here: int, there: int, before: Sequence[int]) -> int:
            trunk.append((index[here, there], tuple(before)))
            return first + len(trunk) - 1

        arrived: dict[int, list[int]] = {}
        for number, switch in enumerate(joins):
            arrived.setdefault(switch, []).append(number)
        ends = dict.fromkeys(forks)
        meeting = self.meeting(arrived, ends)
        paths = [self.path(switch, meeting) for switch in arrived]
        steps = {
            here: (len(path) - place, there)
            for path in paths
            for place, (here, there) in enumerate(pairwise(path))
        }
        # Nodes farthest from the meeting point first, so that all inputs of a node are known.
        for here, (_, there) in sorted(steps.items(), key=lambda item: -item[1][0]):
            arrived.setdefault(there, []).append(add(here, there, arrived[here]))
        brought = {meeting: tuple(sorted(arrived[meeting]))}
        for switch in ends:
            for here, there in pairwise(self.path(meeting, switch)):
                if there not in brought:
                    brought[there] = (add(here, there, brought[here]),)
        return tuple(trunk), [brought[switch] for switch in forks]

    def path(self, source: int, target: int) -> Sequence[int]:
        """Return the switches between two switches, inclusive."""
        up, down = self._chain(source), self._chain(target)
        top = next(place for place, switch in enumerate(up) if switch in down)
        return [*up[: top + 1], *reversed(down[: down.index(up[top])])]

    def _common(self, switches: Iterable[int]) -> int:
        """Return the lowest common ancestor of switches, which may be one of them."""
        chains = [self._chain(switch) for switch in switches]
        return next(one for one in chains[0] if all(one in chain for chain in chains))

    def _chain(self, switch: int) -> tuple[int, ...]:
        """Return a switch and its ancestors, from the lowest."""
        return self._chains.get(switch, (switch,))
