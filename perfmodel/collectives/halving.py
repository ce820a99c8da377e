"""Recursive halving and doubling: logarithmically many steps.

Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
International Journal of High Performance Computing Applications 19, 2005. Where the group is no
power of two, each member beyond one lends its data to a partner first and gets its result from it
in the end, as described there.
"""

from collections.abc import Sequence

from .schedule import ScheduleBuilder

__all__ = ["halving_doubling"]


def halving_doubling(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather over any group.

    Parameters
    ----------
    builder : ScheduleBuilder
        Takes the transfers.
    members : sequence of int
        NPUs of the group; partners are equally far apart in this order.
    chunk_bytes : float
        The whole vector [B].
    pattern : str
        ``all_reduce``, ``reduce_scatter`` or ``all_gather``.
    """
    power = 1 << (len(members).bit_length() - 1)
    pairs = list(zip(members, members[power:], strict=False))  # who stands in for whom
    share = chunk_bytes / len(members)
    shard = {member: builder.add_shard(member, share) for member in members}
    everything = list(shard.values())
    core = members[:power]
    guests = dict(pairs)
    owned = [[shard[m], *([shard[guests[m]]] if m in guests else [])] for m in core]
    if pattern != "all_gather":
        for host, guest in pairs:
            builder.send((guest,), (host,), everything, "reduce")
        _halve(builder, core, owned)
    else:
        for host, guest in pairs:
            builder.send((guest,), (host,), [shard[guest]], "copy")
    if pattern == "reduce_scatter":
        for host, guest in pairs:
            builder.send((host,), (guest,), [shard[guest]], "copy")
        return
    _double(builder, core, owned)
    for host, guest in pairs:
        builder.send((host,), (guest,), everything, "copy")


def _halve(builder: ScheduleBuilder, core: Sequence[int], owned: Sequence[Sequence[int]]) -> None:
    distance = len(core) // 2
    while distance:
        for i, member in enumerate(core):
            partner = i ^ distance
            builder.send((member,), (core[partner],), _block(owned, partner, distance), "reduce")
        distance //= 2


def _double(builder: ScheduleBuilder, core: Sequence[int], owned: Sequence[Sequence[int]]) -> None:
    distance = 1
    while distance < len(core):
        for i, member in enumerate(core):
            builder.send((member,), (core[i ^ distance],), _block(owned, i, distance), "copy")
        distance *= 2


def _block(owned: Sequence[Sequence[int]], i: int, distance: int) -> list[int]:
    """Return the shards of the aligned block of ``distance`` members around member i."""
    first = i // distance * distance
    return [one for group in owned[first : first + distance] for one in group]
