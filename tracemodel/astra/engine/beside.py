"""Groups of traces that may run the same kind of collective at the same time."""

from collections.abc import Iterator, Sequence

from perfmodel.collectives.schedule import Pattern

from .job import Job
from .trace import Trace

__all__ = ["groups_by_kind"]

_Use = tuple[Pattern, str, int | None]
"""Kind of a collective, the name of its group there, and the root rank of a broadcast."""


def groups_by_kind(jobs: Sequence[Job]) -> dict[Pattern, list[tuple[int, ...]]]:
    """Return the NPUs of the groups that run each kind of collective, in the order of the jobs.

    A broadcast has its root first. What the engine refuses is left out.
    """
    found: dict[Pattern, dict[tuple[int, ...], None]] = {}
    for job in jobs:
        known: dict[int, list[_Use]] = {}
        for trace in job.traces:
            if id(trace.operations) not in known:
                known[id(trace.operations)] = list(dict.fromkeys(_uses(trace)))
            for kind, name, root in known[id(trace.operations)]:
                name = trace.names.get(name, name)
                ranks = job.groups.get(name, ()) if name else tuple(range(len(job.npus)))
                first = ranks.index(root) if root in ranks else 0
                order = ranks[first:] + ranks[:first]
                if len(order) > 1:
                    group = tuple(job.npus[one] for one in order)
                    found.setdefault(kind, {})[group] = None
    return {kind: [*groups] for kind, groups in found.items()}


def _uses(trace: Trace) -> Iterator[_Use]:
    for one in trace.operations.values():
        if one.what.collective is not None:
            yield one.what.collective, one.what.group, one.what.source
