"""Greedy searches for paths, flow by flow and level by level; neither proves a conflict."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from .flows import Flow
from .sharing import Sharing, bits

__all__ = ["Path", "by_flows", "by_levels", "leftmost_path"]

Path = tuple[int, ...]
"""Middle subswitch that a flow takes at each level of the recursion."""


def by_flows(
    flows: Sequence[Flow], depth: int, middle_switches: int, order: Iterable[int]
) -> tuple[list[Path] | None, int]:
    """Give flow after flow the leftmost path that is free.

    A path is a leaf of a tree with m branches, K deep. A micro-switch at level l takes from the
    flows on it the subtrees, rooted at depth l, that others on it are in.

    Returns
    -------
    list of Path or None, int
        Paths in the order of ``flows``, or None and the flow that found no path.
    """
    used: dict[tuple[int, int, int], int] = {}
    paths: list[Path] = [()] * len(flows)
    everything = (1 << middle_switches**depth) - 1
    for index in order:
        flow = flows[index]
        keys = {
            (level, side, port >> level)
            for side, ports in enumerate((flow.inputs, flow.outputs))
            for port in ports
            for level in range(1, depth + 1)
        }
        taken = 0
        for key in keys:
            taken |= used.get(key, 0)
        free = everything & ~taken
        if not free:
            return None, index
        leaf = (free & -free).bit_length() - 1
        trees = _subtrees(leaf, depth, middle_switches)
        for key in keys:
            used[key] = used.get(key, 0) | trees[key[0]]
        paths[index] = _path(leaf, depth, middle_switches)
    return paths, -1


def by_levels(sharing: Sharing, middle_switches: int) -> list[Path] | None:
    """Colour level after level, each middle subswitch on its own, without going back.

    FRED, arXiv 2406.19580, on routing. The flow with the fewest colours left comes next, which is
    exact for two colours; so unicasts, whose graphs are paths and even cycles, always succeed.
    """
    groups, colours = [(1 << sharing.count) - 1], [[] for _ in range(sharing.count)]
    near = [0] * sharing.count
    for level in sharing.exact[1:]:
        near = [old | new for old, new in zip(near, level, strict=True)]
        inner: list[int] = []
        for group in groups:
            parts = _coloured(group, near, middle_switches)
            if parts is None:
                return None
            for colour, part in enumerate(parts):
                for flow in bits(part):
                    colours[flow].append(colour)
            inner += [part for part in parts if part]
        groups = inner
    return [tuple(path) for path in colours]


def leftmost_path(
    flow: int, sharing: Sharing, placed: dict[int, Path], middle_switches: int
) -> Path | None:
    """Return the leftmost path of a flow beside those placed, or None."""
    taken, depth = 0, sharing.depth
    for level, masks in enumerate(sharing.exact):
        for other in bits(masks[flow]):
            if other in placed:
                leaf = 0
                for colour in placed[other]:
                    leaf = leaf * middle_switches + colour
                taken |= _subtrees(leaf, depth, middle_switches)[level]
    free = ((1 << middle_switches**depth) - 1) & ~taken
    return _path((free & -free).bit_length() - 1, depth, middle_switches) if free else None


def _coloured(group: int, near: Sequence[int], middle_switches: int) -> list[int] | None:
    """Return the flows of ``group`` by colour, neighbours apart, or None if stuck."""
    parts, left = [0] * middle_switches, group
    open_colours = dict.fromkeys(bits(group), middle_switches)
    while left:
        flow = min(bits(left), key=lambda f: (open_colours[f], -(near[f] & group).bit_count(), f))
        colour = next((c for c, part in enumerate(parts) if not part & near[flow]), None)
        if colour is None:
            return None
        for other in bits(near[flow] & left):
            open_colours[other] -= not parts[colour] & near[other]
        parts[colour] |= 1 << flow
        left &= ~(1 << flow)
    return parts


@lru_cache(maxsize=65536)
def _path(leaf: int, depth: int, middle_switches: int) -> Path:
    path = []
    for _ in range(depth):
        leaf, colour = divmod(leaf, middle_switches)
        path.append(colour)
    return tuple(reversed(path))


@lru_cache(maxsize=4096)
def _subtrees(leaf: int, depth: int, middle_switches: int) -> tuple[int, ...]:
    """Return for each depth, from 0, the leaves of the subtree rooted there that ``leaf`` is in."""
    sizes = [middle_switches ** (depth - level) for level in range(depth + 1)]
    return tuple(((1 << size) - 1) << (leaf - leaf % size) for size in sizes)
