"""Order of NPUs in a logical ring on a mesh, between neighbours where possible.

Neighbours are the nearest members in a row or a column, so a group may have gaps. A ring only
between neighbours uses each link for one message and leaves its opposite direction idle, which
suffices for a second ring in the reverse direction.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

__all__ = ["mesh_ring", "product"]

_STEPS = 2000
"""Steps of the search for a cycle in a group of any shape, before the best snake is used."""


def product(columns: int, members: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return the columns and rows of a group that contains all of their crossings.

    None if the group has other members. The mesh has ``columns`` columns.
    """
    xs = sorted({npu % columns for npu in members})
    ys = sorted({npu // columns for npu in members})
    return (xs, ys) if len(xs) * len(ys) == len(members) else None


@lru_cache(maxsize=4096)
def mesh_ring(columns: int, members: tuple[int, ...]) -> tuple[int, ...]:
    """Return the members in ring order, starting with the first one.

    A Hamiltonian cycle between neighbours if there is one: always for the crossings of some rows
    and columns of which one number is even, and as far as a bounded search finds it for others.
    Else the order as given or a snake along rows or columns, whichever puts least on its busiest
    link: in one direction of the ring, then in both.

    Parameters
    ----------
    columns : int
        NPUs in a row of the mesh; NPU x + columns * y is at column x and row y.
    members : tuple of int
        The group, each once.
    """
    block, count = product(columns, members), len(members)
    cycle = None
    if count > 3:
        cycle = _comb(columns, *block) if block else _search(columns, members)
    if cycle is None:
        snakes = (_snake(columns, members, by_column=one) for one in (False, True))
        cycle = min((members, *snakes), key=lambda order: _cost(columns, order))
    first = cycle.index(members[0])
    return (*cycle[first:], *cycle[:first])


def _comb(columns: int, xs: Sequence[int], ys: Sequence[int]) -> tuple[int, ...] | None:
    """Return a cycle up and down all columns but the first, and back along the first."""
    if min(len(xs), len(ys)) < 2 or len(xs) * len(ys) % 2:
        return None
    if len(ys) % 2:
        transposed = _comb(len(ys), range(len(ys)), range(len(xs))) or ()
        return tuple(xs[i // len(ys)] + columns * ys[i % len(ys)] for i in transposed)
    teeth = [
        x + columns * y
        for place, y in enumerate(ys)
        for x in (reversed(xs[1:]) if place % 2 else xs[1:])
    ]
    back = [xs[0] + columns * y for y in reversed(ys)]
    return tuple(teeth + back)


def _lines(columns: int, members: Sequence[int], *, by_column: bool) -> list[list[int]]:
    """Return the members of each non-empty row or column."""
    lines: dict[int, list[int]] = {}
    for npu in sorted(members, key=lambda npu: (npu % columns, npu) if by_column else (0, npu)):
        lines.setdefault(npu % columns if by_column else npu // columns, []).append(npu)
    return list(lines.values())


def _snake(columns: int, members: Sequence[int], *, by_column: bool) -> tuple[int, ...]:
    """Return the members line by line, every other line reversed."""
    lines = enumerate(_lines(columns, members, by_column=by_column))
    return tuple(npu for place, line in lines for npu in (reversed(line) if place % 2 else line))


def _cost(columns: int, order: Sequence[int]) -> tuple[int, int, int]:
    """Return the load of the busiest link in one direction, in both, and all hops."""
    one = _loads(columns, order)
    both = one + _loads(columns, order[::-1])
    return max(one.values()), max(both.values()), both.total()


def _loads(columns: int, order: Sequence[int]) -> Counter[tuple[int, int]]:
    """Return how often a ring in this order uses each link, with X-Y routing."""
    loads: Counter[tuple[int, int]] = Counter()
    for source, target in pairwise((*order, order[0])):
        corner = target % columns + source // columns * columns
        for start, end, step in ((source, corner, 1), (corner, target, columns)):
            stride = step if end > start else -step
            loads.update(pairwise(range(start, end + stride, stride)))
    return loads


def _neighbours(columns: int, members: Sequence[int]) -> dict[int, list[int]]:
    """Return the nearest members of each member in its row and its column."""
    found: dict[int, list[int]] = {npu: [] for npu in members}
    for by_column in (False, True):
        for line in _lines(columns, members, by_column=by_column):
            for a, b in pairwise(line):
                found[a].append(b)
                found[b].append(a)
    return found


def _search(columns: int, members: Sequence[int]) -> tuple[int, ...] | None:
    """Return a Hamiltonian cycle between neighbours; None if not found in ``_STEPS`` steps.

    Depth first, on to the member with the fewest neighbours that are left (Warnsdorff's rule).
    """
    neighbours = _neighbours(columns, members)
    if min(len(near) for near in neighbours.values()) < 2:
        return None
    path = [members[0]]
    used = set(path)

    def onwards() -> list[int]:
        """Return the possible continuations of the path, the best last."""
        free = [npu for npu in neighbours[path[-1]] if npu not in used]
        return sorted(
            free, key=lambda npu: sum(near not in used for near in neighbours[npu]), reverse=True
        )

    choices = [onwards()]
    for _ in range(_STEPS):
        if len(path) == len(members) and path[0] in neighbours[path[-1]]:
            return tuple(path)
        while choices and not choices[-1]:
            choices.pop()
            used.discard(path.pop())
        if not choices:
            return None
        path.append(choices[-1].pop())
        used.add(path[-1])
        choices.append(onwards())
    return None
