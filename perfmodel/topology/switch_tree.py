"""Routes through a tree of switches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from .graph import Hops

__all__ = ["SwitchTree"]


class SwitchTree:
    """A tree of switches, given as the parent of each switch but the root.

    Parameters
    ----------
    above : dict of int to int
        Parent of each switch; the root has no entry. Empty for one switch.
    """

    def __init__(self, above: dict[int, int]) -> None:
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

    def hops(
        self,
        sources: Sequence[int],
        targets: Sequence[int],
        switch_of: Mapping[int, int],
        link: Callable[[int, int], int],
    ) -> Hops:
        """Return the links of a flow: reduce over ``sources``, distribute to ``targets``.

        Each switch reduces the data from below it, as far up as necessary: data that only one
        switch has above it is reduced there, and data does not return to a switch from above. A
        route from one node to another is the flow of one source and one target.

        Parameters
        ----------
        sources, targets : sequence of int
            Nodes that hang on switches of the tree.
        switch_of : mapping
            Switch that each of them hangs on.
        link : callable
            Returns the index of the link from one node to another. It is called once for each link
            of the flow, in the order in which the flow crosses them.
        """
        hops: list[tuple[int, tuple[int, ...]]] = []

        def add(here: int, there: int, before: Sequence[int]) -> int:
            hops.append((link(here, there), tuple(before)))
            return len(hops) - 1

        arrived: dict[int, list[int]] = {}
        for source in sources:
            switch = switch_of[source]
            arrived.setdefault(switch, []).append(add(source, switch, ()))
        ends = dict.fromkeys(switch_of[target] for target in targets)
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
        brought: dict[int, Sequence[int]] = {meeting: sorted(arrived[meeting])}
        for switch in ends:
            for here, there in pairwise(self.path(meeting, switch)):
                if there not in brought:
                    brought[there] = (add(here, there, brought[here]),)
        for target in targets:
            add(switch_of[target], target, brought[switch_of[target]])
        return tuple(hops)

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
