"""Schedules: the transfers of one chunk of a collective, and how they are put together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..topology.graph import Hops, Topology
from ..transfer import Transfer

__all__ = ["PATTERNS", "Part", "Schedule", "ScheduleBuilder"]

PATTERNS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast")
"""Collectives that the model has."""


@dataclass(frozen=True)
class Part:
    """The share of one group in a schedule.

    Parameters
    ----------
    members : tuple of int
        NPUs of the group; the first is the root of a broadcast.
    owners : dict
        NPU that owns each shard of the group's data: where a reduce-scatter leaves it, and where
        an all-gather or a broadcast finds it.
    """

    members: tuple[int, ...]
    owners: dict[int, int]


@dataclass(frozen=True)
class Schedule:
    """One chunk of a collective, on one group or on several at once.

    Parameters
    ----------
    pattern : str
        One of ``PATTERNS``.
    algorithm : str
        How it is done, in words.
    parts : tuple of Part
        The groups.
    transfers : tuple of Transfer
        In an order that respects ``after``.
    assumptions : tuple of str
        What the algorithm takes for granted.
    """

    pattern: str
    algorithm: str
    parts: tuple[Part, ...]
    transfers: tuple[Transfer, ...]
    assumptions: tuple[str, ...] = ()


@dataclass
class ScheduleBuilder:
    """Collects transfers and makes each wait for the data that it sends.

    Parameters
    ----------
    topology : Topology
        Gives the routes.
    """

    topology: Topology
    transfers: list[Transfer] = field(default_factory=list[Transfer])
    _shard_bytes: list[float] = field(default_factory=list[float])
    _owners: dict[int, int] = field(default_factory=dict[int, int])
    _writers: dict[tuple[int, int], tuple[int, ...]] = field(
        default_factory=dict[tuple[int, int], tuple[int, ...]]
    )
    _routes: dict[tuple[tuple[int, ...], tuple[int, ...]], Hops] = field(
        default_factory=dict[tuple[tuple[int, ...], tuple[int, ...]], Hops]
    )

    def add_shard(self, owner: int, shard_bytes: float) -> int:
        """Return the number of a new shard of so many bytes [B], owned by an NPU."""
        number = len(self._shard_bytes)
        self._shard_bytes.append(shard_bytes)
        self._owners[number] = owner
        return number

    def end_part(self, members: Sequence[int]) -> Part:
        """Return the part of a group: all shards since the part before."""
        owners, self._owners = self._owners, {}
        return Part(tuple(members), owners)

    def send(
        self,
        sources: Iterable[int],
        targets: Iterable[int],
        shards: Sequence[int],
        action: Literal["reduce", "copy"],
    ) -> None:
        """Add the transfer of some shards, after all that brought them to its sources.

        Raises
        ------
        ValueError
            The topology cannot carry it.
        """
        key = (tuple(sources), tuple(targets))
        if key not in self._routes:
            self._routes[key] = self.topology.hops(*key)
        after = sorted(
            {
                earlier
                for source in key[0]
                for shard in shards
                for earlier in self._writers.get((source, shard), ())
            }
        )
        number = len(self.transfers)
        for target in key[1]:
            for shard in shards:
                kept = self._writers.get((target, shard), ()) if action == "reduce" else ()
                self._writers[target, shard] = (*kept, number)
        self.transfers.append(
            Transfer(
                sources=key[0],
                targets=key[1],
                hops=self._routes[key],
                payload_bytes=sum(self._shard_bytes[shard] for shard in shards),
                after=tuple(after),
                shards=tuple(shards),
                action=action,
            )
        )
