"""Double binary trees: two trees, each for half of the data.

Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
Parallel Computing 35, 2009.
"""

from collections.abc import Sequence

from perfmodel.collectives.algorithm import ALGORITHMS, Algorithm
from perfmodel.collectives.bounds import volume_s
from perfmodel.collectives.schedule import ScheduleBuilder

__all__ = ["binary_tree", "double_binary_tree"]


def binary_tree(count: int) -> list[int | None]:
    """Return the parent of each of ``count`` positions; only odd positions have children.

    Counted from 1, a place lies above the two places that differ from it by half of its lowest
    set bit; those beyond the end are left out, and their children move up.
    """
    parents: list[int | None] = []
    for place in range(1, count + 1):
        bit = place & -place
        above, before = (place ^ bit) | (bit << 1), place ^ bit
        # If the parent would be beyond the last place, the place before this block is the parent.
        parent = above if above <= count else before
        parents.append(parent - 1 if parent else None)
    return parents


def double_binary_tree(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add any collective; a broadcast or a reduce from or to the first member.

    An all-reduce reduces to the root of each tree and broadcasts from there. A broadcast or a
    reduce runs on trees of the other members, of which the first feeds, or drains, both roots. The
    others send up and down an edge only what is for, or from, the members below it; a
    reduce-scatter adds up on the way to the root.
    """
    if pattern in ("reduce_scatter", "all_gather", "all_to_all"):
        _scattered(builder, members, chunk_bytes / 2, pattern)
        return
    rooted = pattern != "all_reduce"
    nodes = list(members[1:] if rooted else members)
    for placed in _two_orders(nodes):
        parents = binary_tree(len(placed))
        root = placed[parents.index(None)]
        shard = builder.add_shard(members[0] if rooted else root, chunk_bytes / 2)
        edges = _edges(placed, parents, root)
        if pattern != "broadcast":
            for parent, child in reversed(edges):
                builder.send((child,), (parent,), (shard,), "reduce")
            if rooted:
                builder.send((root,), members[:1], (shard,), "reduce")
        else:
            builder.send(members[:1], (root,), (shard,), "copy")
        if pattern != "reduce":
            for parent, child in edges:
                builder.send((parent,), (child,), (shard,), "copy")


def _two_orders(nodes: list[int]) -> tuple[list[int], list[int]]:
    """Return the order of the members in each of the two trees.

    The second is the first one's mirror image, or if their number is odd shifted by one.
    """
    return nodes, nodes[::-1] if len(nodes) % 2 == 0 else nodes[1:] + nodes[:1]


def _scattered(
    builder: ScheduleBuilder, members: Sequence[int], half_bytes: float, pattern: str
) -> None:
    """Add a collective in which members own shards or send shards to each other."""
    share = half_bytes / len(members)
    if pattern == "all_to_all" and builder.lockstep:
        _crossings(builder, members, share)
        return
    for placed in _two_orders(list(members)):
        parents = binary_tree(len(placed))
        edges = _edges(placed, parents, placed[parents.index(None)])
        below = {member: {member} for member in placed}
        for parent, child in reversed(edges):
            below[parent] |= below[child]
        if pattern == "all_to_all":
            pairs = [(a, b) for a in members for b in members if a != b]
            shard = {(a, b): builder.add_shard(a, share, b) for a, b in pairs}
            leave = {
                c: [shard[a, b] for a, b in pairs if a in s and b not in s]
                for c, s in below.items()
            }
            enter = {
                c: [shard[a, b] for a, b in pairs if b in s and a not in s]
                for c, s in below.items()
            }
        else:
            own = {member: builder.add_shard(member, share) for member in members}
            everything = list(own.values())
            inside = {
                c: [own[member] for member in members if member in s] for c, s in below.items()
            }
            outside = {
                c: [own[member] for member in members if member not in s] for c, s in below.items()
            }
            scatter = pattern == "reduce_scatter"
            leave = dict.fromkeys(placed, everything) if scatter else inside
            enter = inside if scatter else outside
        upwards = "reduce" if pattern == "reduce_scatter" else "copy"
        for parent, child in reversed(edges):
            builder.send((child,), (parent,), leave[child], upwards)
        for parent, child in edges:
            builder.send((parent,), (child,), enter[child], "copy")


def _crossings(builder: ScheduleBuilder, members: Sequence[int], share: float) -> None:
    """Add an all-to-all as total bytes per edge, since the pairs are too many to list."""
    first = builder.lane
    for tree, placed in enumerate(_two_orders(list(members))):
        builder.lane = first + tree
        parents = binary_tree(len(placed))
        edges = _edges(placed, parents, placed[parents.index(None)])
        below = dict.fromkeys(placed, 1)
        for parent, child in reversed(edges):
            below[parent] += below[child]
        crossing = {
            child: (builder.add_shard(child, count * (len(placed) - count) * share),)
            for child, count in below.items()
        }
        for parent, child in reversed(edges):
            builder.exchange([(child, parent, crossing[child])], "copy")
        for parent, child in edges:
            builder.exchange([(parent, child, crossing[child])], "copy")
    builder.lane = first


def _edges(
    placed: Sequence[int], parents: Sequence[int | None], root: int
) -> list[tuple[int, int]]:
    """Return pairs of parent and child, in order of distance from the root."""
    children: dict[int, list[int]] = {}
    for member, parent in zip(placed, parents, strict=True):
        if parent is not None:
            children.setdefault(placed[parent], []).append(member)
    edges: list[tuple[int, int]] = []
    level = [root]
    while level:
        found = [(node, child) for node in level for child in children.get(node, ())]
        edges += found
        level = [child for _, child in found]
    return edges


ALGORITHMS.add(
    "double_binary_tree",
    Algorithm("double binary tree", double_binary_tree, least_s=volume_s),
    rank=4,
)
