"""Parts of a collective that have nothing to do with each other."""

from collections.abc import Sequence

from .flow import FluidFlow
from .symmetry import Classes

__all__ = ["independent_parts"]


def independent_parts(flows: Sequence[FluidFlow], classes: Classes) -> list[list[int]]:
    """Return the classes of flows in sets that share no link and do not wait for each other."""
    root = list(range(len(classes.representative)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    owner: dict[int, int] = {}
    for i, loads in enumerate(classes.loads):
        for link, _ in loads:
            root[find(i)] = find(owner.setdefault(link, i))
        for other in flows[classes.representative[i]].after:
            root[find(i)] = find(classes.flow_class[other])
    parts: dict[int, list[int]] = {}
    for i in range(len(root)):
        parts.setdefault(find(i), []).append(i)
    return list(parts.values())
