"""Routes through a tree of switches."""

from collections.abc import Iterable, Sequence

__all__ = ["SwitchTree"]


class SwitchTree:
    """A tree of switches, given as the parent of each switch but the root.

    Parameters
    ----------
    above : dict of int to int
        Parent of each switch; the root has no entry.
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
        return forks if joins in self._chains[forks] else joins

    def path(self, source: int, target: int) -> Sequence[int]:
        """Return the switches between two switches, inclusive."""
        up, down = self._chains[source], self._chains[target]
        turn = next(place for place, switch in enumerate(up) if switch in down)
        return [*up[: turn + 1], *reversed(down[: down.index(up[turn])])]

    def _common(self, switches: Iterable[int]) -> int:
        """Return the lowest common ancestor of switches, which may be one of them."""
        chains = [self._chains[switch] for switch in switches]
        return next(one for one in chains[0] if all(one in chain for chain in chains))
