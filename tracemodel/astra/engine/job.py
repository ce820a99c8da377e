"""A job: traces, the NPUs that run them, and a priority."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tracemodel.astra.files.groups import Groups

from .trace import Trace

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """Traces and the NPUs that run them.

    Parameters
    ----------
    traces : sequence of Trace
        Trace of each rank.
    npus : tuple of int
        NPU of each rank.
    groups : mapping
        Ranks of each communicator group.
    groups_source : str
        File of the groups, for errors.
    priority : int
        Priority on links that the job shares with others; a lower number goes first.
    name : str
        Name for people to read.
    """

    traces: Sequence[Trace]
    npus: tuple[int, ...]
    groups: Groups = field(default_factory=dict[str, tuple[int, ...]])
    groups_source: str = "groups"
    priority: int = 0
    name: str = "workload"
