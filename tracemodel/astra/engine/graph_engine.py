"""Execution loop of ASTRA-sim 2.0 for the traces of all NPUs."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fred_hw.errors import InputError
from fred_hw.progress import count
from perfmodel.clock import Clock
from tracemodel.astra.collectives.plan import Plan
from tracemodel.astra.collectives.streams import Streams
from tracemodel.astra.transport import Exchange, Key
from tracemodel.chakra.feeder import Feeder, named
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.partners import Partners
from tracemodel.rank_times import RankTimes

from .alike import alike
from .bound import FasterThanLinks
from .carriers import carrying
from .carrying import Together
from .custom import CustomRun, load_custom
from .job import Job
from .meeting import Meeting
from .memory import RemoteMemory
from .operation import Operation, add_partners, kind_of, message_ends, root_name
from .plans import Plans
from .rank import Rank
from .record import Record
from .setup import Setup
from .state import Parts
from .trace import Trace
from .uneven import exchange_traces, shares, uneven_groups
from .watch import Watch

__all__ = ["GraphEngine"]

OnComplete = Callable[[int, Operation, int, int], object]

_COUNTED = 1024
"""Number of completed nodes between two progress reports."""

_NAMED = 4
"""Largest number of nodes named in an error message."""


class GraphEngine:
    """Runs the traces of all NPUs.

    Parameters
    ----------
    traces : sequence of Trace
        Traces of all NPUs by number, or of one job that uses the first NPUs of a built-in fabric.
    setup : Setup
        Network and system.
    model : str
        Network model, one of ``tracemodel.astra.transport.NETWORK_MODELS``, or ``roce``.
    on_complete : callable or None
        Called with rank, operation, start and end [ns] of each operation that ends.
    jobs : sequence of Job or None
        Several jobs, each with NPUs of its own, instead of ``traces``.
    symmetry : bool
        Whether identical work of NPUs is simulated once, in network models without congestion.
    watch : Watch or None
        Observes the run, and leaves out repetitions; not together with ``on_complete``.
    record : Record or None
        Records the events of one job; not together with ``on_complete`` or ``watch``.

    Raises
    ------
    ValueError
        There is not one trace for each NPU.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        setup: Setup,
        model: str = "unaware",
        on_complete: OnComplete | None = None,
        *,
        jobs: Sequence[Job] | None = None,
        symmetry: bool = True,
        watch: Watch | None = None,
        record: Record | None = None,
    ) -> None:
        npus = setup.network.npus
        if jobs is None:
            if len(traces) != npus and not (setup.fabric and 0 < len(traces) < npus):
                raise ValueError(f"traces must be {npus}, one for each NPU, not {len(traces)}")
            given = setup.groups, setup.groups_source
            jobs = [Job(traces, tuple(range(len(traces))), *given)]
        on_complete = record.node if record else on_complete
        self._jobs, self._setup, self._on_complete = jobs, setup, on_complete
        self._watch = watch
        self._clock = Clock(0)
        self._carrying = carrying(model, setup, self._clock, len(jobs) > 1, symmetry=symmetry)
        self._carrying.jobs = jobs
        self._carrying.priorities.update((npu, job.priority) for job in jobs for npu in job.npus)
        self._exchange = Exchange(self._carrying, self._clock)
        self._memory = RemoteMemory(setup.memory, self._clock)
        self._customs: dict[tuple[str, int], list[Trace]] = {}
        self._meetings: dict[object, Meeting] = {}
        self._unreceived: dict[Key, deque[tuple[Rank, Operation]]] = defaultdict(deque)
        self._ended = 0
        # A callback for each node needs all ranks to run.
        self._uneven = [uneven_groups(job) for job in jobs]
        able = symmetry and on_complete is None and len(jobs) == 1
        able = able and self._carrying.stands_for_others and not any(self._uneven)
        self._alike = alike(jobs[0], setup, model) if able else None
        self._plans = Plans(jobs, setup, some=self._alike is not None)
        run = {*self._alike.first} if self._alike else None
        self._ranks = [
            self._rank(number, rank)
            for number, job in enumerate(jobs)
            for rank in range(len(job.traces))
            if run is None or rank in run
        ]
        self._by_npu = {rank.npu: rank for rank in self._ranks}
        self._nodes = sum(len(jobs[one.job].traces[one.number].nodes) for one in self._ranks)

    def _rank(self, job: int, number: int) -> Rank:
        trace = self._jobs[job].traces[number]
        return Rank(
            number,
            Feeder(trace.nodes, trace.source, control=False),
            self._begin,
            self._completed,
            npu=self._jobs[job].npus[number],
            job=job,
        )

    @property
    def faster(self) -> FasterThanLinks | None:
        """How often and by how much the model was faster than links allow; valid after the run."""
        again = self._watch and self._watch.again
        return self._carrying.faster(again.more if again else (0, 0))

    @property
    def figures(self) -> Mapping[str, Any]:
        """Results of the network model other than times, by JSON name; valid after the run."""
        return self._carrying.figures

    def run(self) -> tuple[RankTimes, ...]:
        """Run all traces; return the time of each rank by activity, job by job.

        Raises
        ------
        InputError
            A node refers to something that does not exist, or NPUs deadlock.
        """
        for rank in self._ranks:
            self._clock.at(0, rank.go_on, 0)
        if self._watch:
            of_all = self._exchange, self._carrying, self._memory, self._meetings
            self._watch.begin(Parts(self._clock, self._ranks, *of_all))
        self._clock.run(self._watch and self._watch.look)
        self._check_ended()
        again = self._watch and self._watch.again
        found = [rank.times(again) for rank in self._ranks]
        if self._alike:
            times = {one.rank: one for one in found}
            return tuple(replace(times[one], rank=i) for i, one in enumerate(self._alike.first))
        return tuple(found)

    def _completed(self, rank: int, operation: Operation, begin: int, end: int) -> None:
        self._ended += 1
        if not self._ended % _COUNTED:
            count("nodes", self._ended, self._nodes)
        if self._watch:
            self._watch.ended(rank, operation.id)
        if self._on_complete:
            self._on_complete(rank, operation, begin, end)

    def end_node(self, rank: Rank, number: int) -> None:
        """End a node of a rank now."""
        rank.ended(number, self._clock.now)

    def _begin(self, rank: Rank, operation: Operation) -> None:
        """Start an operation of an NPU (``Workload::issue``)."""
        duration_ns = operation.what.duration_ns
        if duration_ns is not None and not self._broadcasts(operation):
            clock = self._clock
            clock.at(clock.now + duration_ns, self.end_node, rank, operation.id)
        elif operation.what.collective is not None:
            self._collective(rank, operation)
        elif operation.what.type in (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE):
            self._message(rank, operation)
        elif self._setup.memory.remote_mem_bw is None:
            message = "must be local memory, as the system has no remote memory"
            raise self._plans.bad(rank.job, rank.number, operation, "tensor_loc", message)
        elif operation.what.joint and self._memory.joins:
            self._joint_memory(rank, operation)
        else:
            ended = partial(self.end_node, rank, operation.id)
            self._memory.access([rank.npu], operation.what.bytes, ended)

    def _broadcasts(self, operation: Operation) -> bool:
        """Return whether a broadcast or a reduce is simulated rather than replayed."""
        return operation.what.collective is not None and not self._carrying.replays_broadcasts

    def _joint_memory(self, rank: Rank, operation: Operation) -> None:
        """Load or store jointly with the other NPUs of a group, once all of them have arrived."""
        job, name = self._jobs[rank.job], self._group(rank, operation)
        ranks = (
            self._plans.ranks(rank.job, rank.number, operation, name)
            if name
            else range(len(job.npus))
        )
        who = "memory", rank.job, name
        turn = rank.collectives[who] = rank.collectives.get(who, -1) + 1
        npus = tuple(job.npus[one] for one in ranks)
        meeting = self._meetings.setdefault(
            (who, turn), Meeting(operation, rank.number, npus, npus)
        )
        other = meeting.operation
        if (other.what.type, other.what.bytes) != (operation.what.type, operation.what.bytes):
            message = (
                f"must be {kind_of(other)} of {other.what.bytes} bytes, as node {other.id} of rank "
                f"{meeting.rank}, not {kind_of(operation)} of {operation.what.bytes}"
            )
            raise self._plans.bad(rank.job, rank.number, operation, "tensor_size", message)
        meeting.starts[rank.npu] = self._clock.now, operation
        if meeting.together:
            del self._meetings[who, turn]
            places = {npu: npu for npu in npus}
            call = partial(self.end_together, meeting, places, npus)
            self._memory.access(npus, operation.what.bytes, call)

    def _message(self, rank: Rank, operation: Operation) -> None:
        npus = self._jobs[rank.job].npus
        try:
            source, target = message_ends(operation, rank.number, len(npus))
        except InputError as error:
            raise self._plans.bad(
                rank.job, rank.number, operation, error.field, error.message
            ) from None
        key: Key = (("message", operation.tag), npus[source], npus[target], operation.what.bytes)
        ended = partial(self.end_node, rank, operation.id)
        if operation.what.type == NodeType.COMM_SEND_NODE:
            self._unreceived[key].append((rank, operation))
            self._exchange.send(key, ended)
        else:
            self._exchange.receive(key, partial(self.end_received, key, ended))

    def end_received(self, key: Key, ended: "partial[None]") -> None:
        """End a receive whose message has arrived."""
        self._unreceived[key].popleft()
        ended()

    def _collective(self, rank: Rank, operation: Operation) -> None:
        name = self._group(rank, operation)
        plan = self._plans.of(rank.job, rank.number, operation, name)
        who = rank.job, name or (plan.axes, plan.first(rank.npu))
        turn = rank.collectives[who] = rank.collectives.get(who, -1) + 1
        meeting = self._meetings.get((who, turn))
        if meeting is None:
            members = plan.members(rank.npu)
            first = [self._alike.first[one] for one in members] if self._alike else members
            meeting = Meeting(operation, rank.number, members, first, plan.traces)
            self._meetings[who, turn] = meeting
        other = meeting.operation
        kind = operation.what.collective
        uneven = kind == "all_to_all" and name in self._uneven[rank.job] and not plan.traces
        same = uneven or other.what.bytes == operation.what.bytes
        if other.what.collective != kind or not same:
            message = (
                f"must be {other.what.collective} of {other.what.bytes} bytes, as node {other.id} "
                f"of rank {meeting.rank}, not {operation.what.collective} of {operation.what.bytes}"
            )
            raise self._plans.bad(rank.job, rank.number, operation, "comm_type", message)
        if other.what.source != operation.what.source:
            message = f"must be as in node {other.id} of rank {meeting.rank}, {_end(other)}"
            message += f", not {_end(operation)}"
            raise self._plans.bad(rank.job, rank.number, operation, root_name(operation), message)
        if meeting.traces != plan.traces:
            message = (
                f"must be done by traces {meeting.traces or 'of none'}, as node {other.id} of "
                f"rank {meeting.rank}, not {plan.traces or 'by an algorithm'}"
            )
            raise self._plans.bad(
                rank.job, rank.number, operation, "per-node-custom-implementation", message
            )
        meeting.starts[rank.npu] = self._clock.now, operation
        trees = rank.trees
        if any(axis.algorithm == "double_binary_tree" for axis in plan.axes):
            rank.trees += len(plan.chunks(operation.what.bytes))
        ended = partial(self.end_node, rank, operation.id)
        if plan.traces:
            place = plan.axes[0].place(rank.npu)
            traces = self._custom(plan.traces, len(meeting.members))
            trace = traces[place]
            at = place, meeting.members, ("custom", who, turn), self._exchange, self._clock
            through = partial(self._end_custom, rank, operation, plan, name, meeting, traces)
            CustomRun(trace, *at, through).go_on()
        elif uneven:
            if meeting.together:
                self._begin_uneven(meeting, plan, name, ("uneven", who, turn))
        elif self._carrying.by_message:
            chunks, at = plan.chunks(operation.what.bytes), (self._exchange, self._clock)
            Streams(plan, chunks, rank.npu, (who, turn), trees, *at, ended).start()
        elif meeting.together:
            self._begin_together(meeting, plan, name, trees)
        if meeting.together:
            del self._meetings[who, turn]

    def _custom(self, prefix: str, npus: int) -> list[Trace]:
        """Return the traces of a custom collective."""
        if (prefix, npus) not in self._customs:
            self._customs[prefix, npus] = load_custom(prefix, npus, control=self._setup.control)
        return self._customs[prefix, npus]

    def _begin_uneven(self, meeting: Meeting, plan: Plan, name: str, tag: object) -> None:
        """Start an uneven all-to-all whose ranks have all arrived, as traces of its messages."""
        sizes: list[tuple[int, ...]] = []
        for npu in meeting.members:
            rank, operation = self._by_npu[npu], meeting.starts[npu][1]
            try:
                sizes.append(shares(operation.what, len(meeting.members)))
            except ValueError as error:
                raise self._plans.bad(
                    rank.job, rank.number, operation, "comm_sizes", str(error)
                ) from None
        traces = exchange_traces(sizes, plan.endpoint_ns)
        for place, npu in enumerate(meeting.members):
            ends = self._by_npu[npu], meeting.starts[npu][1], plan, name, meeting, traces
            at = place, meeting.members, tag, self._exchange, self._clock
            CustomRun(traces[place], *at, partial(self._end_custom, *ends)).go_on()

    def _end_custom(
        self,
        rank: Rank,
        operation: Operation,
        plan: Plan,
        name: str,
        meeting: Meeting,
        traces: Sequence[Trace],
    ) -> None:
        """End a custom collective at an NPU; the last NPU reports its duration."""
        meeting.through += 1
        if meeting.through == len(meeting.left):
            self._carrying.done(self._together(meeting, plan, name, rank, operation), traces)
        self.end_node(rank, operation.id)

    def _begin_together(self, meeting: Meeting, plan: Plan, name: str, trees: int) -> None:
        """Start a collective whose members have all arrived."""
        places = dict(zip(meeting.members, meeting.first, strict=True))
        rank = self._by_npu[meeting.first[0]]
        operation = meeting.starts[rank.npu][1]
        one = self._together(meeting, plan, name, rank, operation, trees)
        self._carrying.collective(one, partial(self.end_together, meeting, places))

    def _together(
        self,
        meeting: Meeting,
        plan: Plan,
        name: str,
        rank: Rank,
        operation: Operation,
        trees: int = 0,
    ) -> Together:
        """Return a collective that all members have started, as seen by a rank."""
        pairs = zip(meeting.members, meeting.first, strict=True)
        starts = [(npu, meeting.starts[first][0]) for npu, first in pairs]
        stands_for = self._alike.count.get(name, 1) if self._alike else 1
        return Together(plan, rank.number, operation, starts, trees, stands_for)

    def end_together(
        self, meeting: Meeting, places: Mapping[int, int], npus: Sequence[int]
    ) -> None:
        """End a collective at the given NPUs now."""
        for npu in npus:
            first = places[npu]
            if first in meeting.left:
                meeting.left.remove(first)
                self.end_node(self._by_npu[first], meeting.starts[first][1].id)

    def _group(self, rank: Rank, operation: Operation) -> str:
        """Return the group of a collective or the group's representative; empty for all NPUs."""
        name = self._plans.name(rank.job, rank.number, operation)
        return self._alike.group[name] if self._alike and name else name

    def _check_ended(self) -> None:
        """Fail if an NPU waits for something that never comes, or leaves a message unreceived.

        The cause is named if a message has no other end, or a collective not all of its ranks.
        Otherwise NPUs wait for each other, and the nodes are named.
        """
        stuck = [
            (rank, operation)
            for rank in self._ranks
            for operation, _ in rank.running.values()
            if not rank.done
        ]
        if not stuck and not any(self._unreceived.values()):
            return
        for job in self._jobs:
            self._check_partners(job)
        said = [self._said(rank, operation) for rank, operation in stuck]
        raise InputError("workload", "", f"must end, but never does: {_few(said)}")

    def _check_partners(self, job: Job) -> None:
        """Fail if a message of a job has no partner, or a collective lacks one of its ranks."""
        partners = Partners()
        for rank, trace in enumerate(job.traces):
            for one in trace.nodes:
                group = trace.names.get(one.what.group, one.what.group)
                try:
                    add_partners(partners, one, rank, len(job.npus), group)
                except InputError as error:
                    field = f"node {one.id}: {error.field}"
                    raise InputError(trace.source, field, error.message) from None
        partners.check([trace.source for trace in job.traces], job.groups)

    def _said(self, rank: Rank, operation: Operation) -> str:
        """Return the text of a node that waits forever, with the ranks that it waits for."""
        npus, waits = self._jobs[rank.job].npus, list[int]()
        if operation.what.type == NodeType.COMM_RECV_NODE:
            waits = [message_ends(operation, rank.number, len(npus))[0]]
        for meeting in self._meetings.values():
            if meeting.starts.get(rank.npu, (0, None))[1] is operation:
                waits = [
                    npus.index(npu)
                    for npu, first in zip(meeting.members, meeting.first, strict=True)
                    if first not in meeting.starts
                ]
        more = f", waits for rank {named(waits)}" if waits else ""
        return f"node {operation.id} of rank {rank.number} ({kind_of(operation)}{more})"


def _end(operation: Operation) -> str:
    return "none" if operation.what.source is None else str(operation.what.source)


def _few(said: Sequence[str]) -> str:
    more = f" and {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    return ", ".join(said[:_NAMED]) + more
