"""Plans and participants of the collectives that the nodes of traces request."""

from collections.abc import Sequence

from fred_hw.errors import InputError
from tracemodel.astra.collectives.plan import Axis, Plan, plan_of

from .job import Job
from .operation import Operation, root_name
from .setup import Setup

__all__ = ["Plans"]


class Plans:
    """Plans of the collectives of all jobs; each plan is made once.

    Ranks are those of a job, and the NPUs of plans are those of the network.

    Parameters
    ----------
    jobs, setup : sequence of Job, Setup
        Jobs, and their network and system.
    some : bool
        Whether some ranks stand for others, in whose groups they need not be.
    """

    def __init__(self, jobs: Sequence[Job], setup: Setup, *, some: bool = False) -> None:
        self._jobs, self._setup, self._some = jobs, setup, some
        self._known: dict[object, Plan] = {}

    def name(self, job: int, rank: int, operation: Operation) -> str:
        """Return the name of a collective's group; empty for all NPUs."""
        group = operation.what.group
        return self._jobs[job].traces[rank].names.get(group, group)

    def of(self, job: int, rank: int, operation: Operation, name: str) -> Plan:
        """Return the plan of a collective over a named group, or over all NPUs without a name.

        Raises
        ------
        InputError
            The group, the root or the dimensions are not allowed, or no algorithm fits.
        """
        npus, what, setup = self._jobs[job].npus, operation.what, self._setup
        kind = what.collective
        assert kind is not None
        group = tuple(npus) if len(npus) < setup.network.npus else None
        if name:
            group = tuple(npus[one] for one in self.ranks(job, rank, operation, name))
        custom = setup.system.custom(kind, operation.id)
        key = job, kind, name, what.involved, what.source, custom
        if key not in self._known:
            all_involved = all(what.involved or ())
            if setup.fabric and not all_involved:
                message = f"must be true for the one dimension of {setup.fabric.name}"
                raise self.bad(job, rank, operation, "involved_dim", message)
            if custom and not all_involved:
                message = "must be true for all dimensions, as traces say how it is done"
                raise self.bad(job, rank, operation, "involved_dim", message)
            root = self._root(job, rank, operation, group)
            self._known[key] = self._plan(operation, group, root, custom)
        return self._known[key]

    def _plan(
        self,
        operation: Operation,
        group: tuple[int, ...] | None,
        root: int | None,
        traces: str | None,
    ) -> Plan:
        """Return a plan: that of a prefix of traces, else of a built-in fabric or the system."""
        setup, what = self._setup, operation.what
        kind, npus = what.collective, setup.network.npus
        assert kind is not None
        if not traces and not setup.fabric:
            system = setup.system, setup.system_source
            more = group, what.involved, root
            return plan_of(kind, setup.network, *system, *more, setup.queues)
        members = group or tuple(range(npus))
        if len(members) == 1:
            return Plan(kind, (), False, 1, 1, 0, None, npus)
        name, first = "traces" if traces else "fabric", 0 if root is None else members.index(root)
        axes = (Axis(0, len(members), 0, name, listed=members, root=first),)
        return Plan(kind, axes, False, 1, 1, 0, None, npus, traces or "")

    def _root(
        self, job: int, rank: int, operation: Operation, group: tuple[int, ...] | None
    ) -> int | None:
        """Return the root NPU of a broadcast or a reduce, if its node names one."""
        source, npus = operation.what.source, self._jobs[job].npus
        if source is None:
            return None
        root = npus[source] if source < len(npus) else None
        if root is None or (group is not None and root not in group):
            kind = operation.what.collective
            message = f"must be a rank that takes part in the {kind}, not {source}"
            raise self.bad(job, rank, operation, root_name(operation), message)
        return root

    def ranks(self, job: int, rank: int, operation: Operation, name: str) -> Sequence[int]:
        """Return the ranks of a group, which must include the rank that names it.

        Raises
        ------
        InputError
            There is no such group, or the rank is not in it.
        """
        found = self._jobs[job].groups.get(name)
        if found is None:
            source = self._jobs[job].groups_source
            message = f"must be one of the groups of {source}, not {name!r:.40}"
            raise self.bad(job, rank, operation, "pg_name", message)
        if rank not in found and not self._some:
            message = f"must name a group that rank {rank} is in, not group {name}"
            raise self.bad(job, rank, operation, "pg_name", message)
        return found

    def bad(
        self, job: int, rank: int, operation: Operation, field: str, message: str
    ) -> InputError:
        """Return the error of an attribute of a node."""
        source = self._jobs[job].traces[rank].source
        return InputError(source, f"node {operation.id}: {field}", message)
