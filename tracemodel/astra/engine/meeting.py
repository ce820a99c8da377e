"""Rendezvous of the NPUs that take part in a collective."""

from collections.abc import Sequence

from .operation import Operation

__all__ = ["Meeting"]


class Meeting:
    """Members of a collective, their representatives, and when each representative started.

    Parameters
    ----------
    operation, rank : Operation, int
        Operation and rank of the first member.
    members : tuple of int
        Participating NPUs.
    first : sequence of int
        The representative of each.
    traces : str
        Prefix of the traces of a custom collective; empty otherwise.
    """

    def __init__(
        self,
        operation: Operation,
        rank: int,
        members: tuple[int, ...],
        first: Sequence[int],
        traces: str = "",
    ) -> None:
        self.traces = traces
        self.operation, self.rank, self.members, self.first = operation, rank, members, first
        self.starts: dict[int, tuple[int, Operation]] = {}
        self.left = {*first}
        self.through = 0
        """Number of those representatives that have finished their own traces of the collective."""

    @property
    def together(self) -> bool:
        """Whether all members have arrived."""
        return len(self.starts) == len(self.left)
