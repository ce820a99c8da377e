"""A job: traces, the NPUs that run them, and a priority."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from perfmodel.astra.files.groups import Groups

from .trace import Trace

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """Traces and the NPUs that run them.

    Parameters
    ----------
    traces : sequence of Trace
        By rank.
    npus : tuple of int
        NPU of each rank.
    groups : mapping
        Ranks of each communicator group.
    groups_source : str
        Their file, for errors.
    priority : int
        On links that it shares with others, where a lower number goes first.
    name : str
        For people.
    """

    traces: Sequence[Trace]
    npus: tuple[int, ...]
    groups: Groups = field(default_factory=dict[str, tuple[int, ...]])
    groups_source: str = "groups"
    priority: int = 0
    name: str = "workload"
