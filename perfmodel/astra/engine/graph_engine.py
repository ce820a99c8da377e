"""The execution loop of ASTRA-sim 2.0 over the traces of all NPUs."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial

from fred_hw.errors import InputError
from fred_hw.progress import count
from perfmodel.astra.clock import Clock
from perfmodel.astra.collectives.ends import Ends
from perfmodel.astra.collectives.plan import Plan, plan_of
from perfmodel.astra.collectives.streams import Streams
from perfmodel.astra.transport import MODELS, Exchange, Key
from perfmodel.chakra.feeder import Feeder
from perfmodel.chakra.kinds import NodeType

from .memory import RemoteMemory
from .operation import Operation
from .rank import Rank
from .setup import Setup
from .stats import RankTimes
from .trace import Trace

__all__ = ["GraphEngine"]

Told = Callable[[int, Operation, int, int], object]

_COUNTED = 1024
"""Nodes between two times that it is told how many have ended."""

_NAMED = 4
"""Nodes that an error line names."""


class _Meeting:
    """NPUs of a collective, and when each began it."""

    def __init__(self, operation: Operation, rank: int, members: tuple[int, ...]) -> None:
        self.operation, self.rank, self.members = operation, rank, members
        self.starts: dict[int, tuple[int, Operation]] = {}


class GraphEngine:
    """Runs the traces of all NPUs.

    Parameters
    ----------
    traces : sequence of Trace
        Of each NPU, by its number.
    setup : Setup
        What they run on.
    model : str
        One of ``perfmodel.astra.transport.MODELS``.
    told : callable or None
        Called with NPU, operation, begin and end [ns] of each operation that ends.

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
        told: Told | None = None,
    ) -> None:
        if len(traces) != setup.network.npus:
            raise ValueError(
                f"traces must be {setup.network.npus}, one for each NPU, not {len(traces)}"
            )
        self._traces, self._setup, self._model = traces, setup, model
        self._clock = Clock()
        self._exchange = Exchange(MODELS[model](setup.network, self._clock), self._clock)
        self._memory = RemoteMemory(setup.memory, self._clock)
        self._ends = Ends(setup.network)
        self._plans: dict[object, Plan] = {}
        self._meetings: dict[object, _Meeting] = {}
        self._unreceived: dict[Key, deque[tuple[Rank, Operation]]] = defaultdict(deque)
        self._ended, self._and_told = 0, told
        self._ranks = [
            Rank(
                number,
                Feeder(one.nodes, one.source),
                one.operations.__getitem__,
                self._begin,
                self._tell,
            )
            for number, one in enumerate(traces)
        ]

    def run(self) -> tuple[RankTimes, ...]:
        """Run all traces to their ends, and return where the time of each NPU went.

        Raises
        ------
        InputError
            A node names what does not exist, or NPUs wait for each other for ever.
        """
        for rank in self._ranks:
            self._clock.at(0, rank.go_on, 0)
        self._clock.run()
        self._check_ended()
        return tuple(rank.times() for rank in self._ranks)

    def _tell(self, rank: int, operation: Operation, begin: int, end: int) -> None:
        self._ended += 1
        if not self._ended % _COUNTED:
            count("nodes", self._ended)
        if self._and_told:
            self._and_told(rank, operation, begin, end)

    def _end(self, rank: Rank, number: int) -> None:
        rank.ended(number, self._clock.now)

    def _begin(self, rank: Rank, operation: Operation) -> None:
        """Begin an operation of an NPU (``Workload::issue``)."""
        ended = partial(self._end, rank, operation.number)
        if operation.duration_ns is not None:
            self._clock.at(self._clock.now + operation.duration_ns, ended)
        elif operation.collective is not None:
            self._collective(rank, operation)
        elif operation.type in (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE):
            self._message(rank, operation)
        elif self._setup.memory.remote_mem_bw is None:
            message = "must be that of local memory, as there is no remote memory"
            raise self._bad(rank, operation, "tensor_loc", message)
        else:
            self._memory.access(rank.number, operation.bytes, ended)

    def _message(self, rank: Rank, operation: Operation) -> None:
        sends = operation.type == NodeType.COMM_SEND_NODE
        ours, theirs = ("comm_src", "comm_dst") if sends else ("comm_dst", "comm_src")
        ends = operation.source, operation.target
        own, other = ends if sends else ends[::-1]
        if own not in (None, rank.number):
            message = f"must be {rank.number}, whose trace it is, not {own}"
            raise self._bad(rank, operation, ours, message)
        if other is None:
            raise self._bad(rank, operation, theirs, "is required and was not given")
        npus = self._setup.network.npus
        if other == rank.number or not other < npus:
            message = f"must be another NPU from 0 to {npus - 1}, not {other}"
            raise self._bad(rank, operation, theirs, message)
        pair = (rank.number, other) if sends else (other, rank.number)
        key: Key = (("message", operation.tag), *pair, operation.bytes)
        ended = partial(self._end, rank, operation.number)
        if sends:
            self._unreceived[key].append((rank, operation))
            self._exchange.send(key, ended)
        else:
            self._exchange.receive(key, partial(self._received, key, ended))

    def _received(self, key: Key, ended: "partial[None]") -> None:
        self._unreceived[key].popleft()
        ended()

    def _collective(self, rank: Rank, operation: Operation) -> None:
        plan = self._plan(rank, operation)
        who = operation.group or (plan.axes, plan.first(rank.number))
        turn = rank.collectives[who] = rank.collectives.get(who, -1) + 1
        meeting = self._meetings.get((who, turn))
        if meeting is None:
            meeting = _Meeting(operation, rank.number, plan.members(rank.number))
            self._meetings[who, turn] = meeting
        first = meeting.operation
        if (first.collective, first.bytes) != (operation.collective, operation.bytes):
            message = (
                f"must be {first.collective} of {first.bytes} bytes, as node {first.number} of "
                f"rank {meeting.rank}, not {operation.collective} of {operation.bytes}"
            )
            raise self._bad(rank, operation, "comm_type", message)
        meeting.starts[rank.number] = self._clock.now, operation
        trees = rank.trees
        if any(axis.algorithm == "double_binary_tree" for axis in plan.axes):
            rank.trees += plan.splits
        if self._model != "unaware":
            ended = partial(self._end, rank, operation.number)
            tag, chunks = (who, turn), plan.chunks(operation.bytes)
            at = self._exchange, self._clock
            Streams(plan, chunks, rank.number, tag, trees, *at, ended).start()
        elif len(meeting.starts) == len(meeting.members):
            # Nobody ends before all have begun, so it is time enough to work it out.
            starts = [(npu, meeting.starts[npu][0]) for npu in meeting.members]
            for npu, end in self._ends.of(plan, operation.bytes, starts, trees).items():
                node = meeting.starts[npu][1].number
                self._clock.at(end, self._end, self._ranks[npu], node)
        if len(meeting.starts) == len(meeting.members):
            del self._meetings[who, turn]

    def _plan(self, rank: Rank, operation: Operation) -> Plan:
        """Return how a collective is done."""
        setup = self._setup
        kind, name = operation.collective, operation.group
        assert kind is not None
        group = None
        if name:
            group = setup.groups.get(name)
            if group is None:
                message = f"must be one of the groups of {setup.groups_source}, not {name!r:.40}"
                raise self._bad(rank, operation, "pg_name", message)
            if rank.number not in group:
                message = f"must be a group with rank {rank.number}, not {name}"
                raise self._bad(rank, operation, "pg_name", message)
        key = kind, name, operation.involved
        if key not in self._plans:
            self._plans[key] = plan_of(
                kind, setup.network, setup.system, setup.system_source, group, operation.involved
            )
        return self._plans[key]

    def _bad(self, rank: Rank, operation: Operation, field: str, message: str) -> InputError:
        source = self._traces[rank.number].source
        return InputError(source, f"node {operation.number}: {field}", message)

    def _check_ended(self) -> None:
        """Fail if NPUs wait for what never comes, and name the nodes."""
        stuck = [
            _said(rank, operation)
            for rank in self._ranks
            for operation, _ in rank.running.values()
            if not rank.done
        ]
        if stuck:
            raise InputError("workload", "", f"must end, but waits for ever: {_few(stuck)}")
        lost = [
            _said(rank, operation)
            for waiting in self._unreceived.values()
            for rank, operation in waiting
        ]
        if lost:
            raise InputError("workload", "", f"must receive what it sends, but for: {_few(lost)}")


def _said(rank: Rank, operation: Operation) -> str:
    what = NodeType(operation.type).name.removesuffix("_NODE").lower()
    return f"node {operation.number} of rank {rank.number} ({what})"


def _few(said: Sequence[str]) -> str:
    more = f" and {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    return ", ".join(said[:_NAMED]) + more
