"""Execution of collectives and messages by each network model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from perfmodel.clock import Clock
from perfmodel.collectives.schedule import Pattern
from perfmodel.network.fluid.sharing import Sharing
from tracemodel.astra.collectives.ends import Ends
from tracemodel.astra.collectives.plan import Plan
from tracemodel.astra.fluid.flows import Flows
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Hop, Network
from tracemodel.astra.transport import Aware, Unaware

from .beside import groups_by_kind
from .bound import Faster, FasterThanLinks, custom_bounds_ns, injection_bound_ns
from .job import Job
from .operation import Operation
from .setup import Setup
from .trace import Trace

__all__ = ["Alone", "ByMessage", "Carrying", "Ended", "Fluid", "Together"]

Ended = Callable[[Sequence[int]], object]


@dataclass(frozen=True)
class Together:
    """A collective whose members have all arrived.

    Parameters
    ----------
    plan : Plan
        Phases of the collective.
    rank : int
        A member of the collective.
    operation : Operation
        Node of the collective in the trace of this member.
    starts : sequence of tuple
        NPUs, and the time at which each arrived [ns].
    trees : int
        Number of chunks sent over a tree before.
    stands_for : int
        Number of equivalent collectives, including this one.
    """

    plan: Plan
    rank: int
    operation: Operation
    starts: Sequence[tuple[int, int]]
    trees: int
    stands_for: int


class Carrying(ABC):
    """Base class of the transports that execute collectives and carry messages.

    Parameters
    ----------
    setup : Setup
        Network and system.
    """

    by_message = False
    """Whether each NPU sends its messages of a collective independently, from its own start."""

    stands_for_others = True
    """Whether one NPU may represent others that do the same."""

    replays_broadcasts = True
    """Whether a broadcast takes the duration given in the trace, as in ASTRA-sim."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.priorities: dict[int, int] = {}
        """Priority of each NPU's traffic; a lower number is served first."""
        self.jobs: Sequence[Job] = ()
        """Jobs whose groups may run the same collective at the same time."""
        self.sharing: Sharing | None = None
        """Bandwidth sharing of the links, if the model has any."""

    @property
    def counts(self) -> tuple[int, int]:
        """Number of collectives that were faster than their links allow, and of all collectives."""
        return 0, 0

    def faster(self, more: tuple[int, int]) -> FasterThanLinks | None:
        """Return how often and by how much the model was faster than the links allow.

        Parameters
        ----------
        more : tuple of int
            Collectives like those before that are to be counted too, as in ``counts``.
        """
        return None

    @property
    def figures(self) -> Mapping[str, Any]:
        """Results of the network model other than times, keyed by JSON name."""
        return {}

    def busy(self) -> Mapping[Hop, int]:
        """Return how much longer each serially used link stays busy [ns]."""
        return {}

    @abstractmethod
    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        """Send a number of bytes now; call a function when they have arrived."""

    def collective(self, one: Together, ended: Ended) -> None:
        """Run a collective; call a function with the NPUs that have ended."""
        raise NotImplementedError

    def done(self, one: Together, traces: Sequence[Trace]) -> None:
        """Note the end of a collective that was run from traces, one per position."""
        return


class ByMessage(Carrying):
    """ASTRA-sim's congestion-aware model: each link serves one message after the other."""

    by_message = True
    stands_for_others = False

    def __init__(self, setup: Setup, transport: Aware) -> None:
        super().__init__(setup)
        self._transport = transport

    def busy(self) -> Mapping[Hop, int]:
        return self._transport.busy()

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        self._transport.carry(source, target, count, arrived)


class Alone(Carrying):
    """ASTRA-sim's congestion-unaware model: messages do not delay each other."""

    def __init__(self, setup: Setup, network: Network, clock: Clock[int]) -> None:
        super().__init__(setup)
        self._network, self._clock = network, clock
        self._unaware, self._ends = Unaware(network, clock), Ends(network)
        self._bounds: dict[tuple[int, int], tuple[Plan, float]] = {}
        self._customs: dict[int, tuple[Plan, list[float]]] = {}
        self._count = self._too_fast = 0
        self._worst: Faster | None = None

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        self._unaware.carry(source, target, count, arrived)

    @property
    def counts(self) -> tuple[int, int]:
        return self._too_fast, self._count

    def faster(self, more: tuple[int, int]) -> FasterThanLinks | None:
        if self._worst is None:
            return None
        return FasterThanLinks(self._too_fast + more[0], self._count + more[1], self._worst)

    def collective(self, one: Together, ended: Ended) -> None:
        """Run a collective; no NPU ends before all have started."""
        plan, size = one.plan, one.operation.what.bytes
        ends = self._ends.of(plan, size, one.starts, one.trees)
        for npu, end in ends.items():
            self._clock.at(end, ended, (npu,))
        key = id(plan), size
        if key not in self._bounds:
            self._bounds[key] = plan, injection_bound_ns(plan, size, self._network)
        self._compare(one, max(ends.values()) - self._clock.now, self._bounds[key][1])

    def done(self, one: Together, traces: Sequence[Trace]) -> None:
        plan, members = one.plan, [npu for npu, _ in one.starts]
        bounds = self._customs.get(id(plan), (plan, None))[1]
        if bounds is None:
            bounds = custom_bounds_ns(traces, members, self._network)
            if plan.traces:  # the traces give the same bounds each time
                self._customs[id(plan)] = plan, bounds
        took_ns = [self._clock.now - start for _, start in one.starts]
        pairs = zip(took_ns, bounds, strict=True)
        self._compare(one, *max(pairs, key=lambda pair: pair[1] / (pair[0] + 1)))

    def _compare(self, one: Together, time_ns: int, bound_ns: float) -> None:
        """Count a collective, and whether it ended faster than its NPUs can send."""
        operation = one.operation
        self._count += one.stands_for
        if time_ns + 1 <= bound_ns:  # times are truncated to whole nanoseconds
            self._too_fast += one.stands_for
            kind = operation.what.collective or ""
            found = Faster(one.rank, operation.id, kind, operation.what.bytes, time_ns, bound_ns)
            if self._worst is None or found.times > self._worst.times:
                self._worst = found


class Fluid(Carrying):
    """Flow-level simulation in which concurrent flows share the bandwidth of every link."""

    replays_broadcasts = False

    def __init__(
        self, setup: Setup, network: FluidNetwork, clock: Clock[int], several: bool, symmetry: bool
    ) -> None:
        super().__init__(setup)
        self._network = network
        self._flows = Flows(network, alone=not several, symmetry=symmetry, beside=self._beside)
        self.sharing = self._sharing = Sharing(clock)
        self._groups: dict[Pattern, list[tuple[int, ...]]] | None = None

    def _beside(self, kind: str) -> Sequence[tuple[int, ...]]:
        """Return all groups that run a kind of collective."""
        if self._groups is None:
            self._groups = groups_by_kind(self.jobs)
        return self._groups.get(cast("Pattern", kind), ())

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        flow = self._flows.message(source, target, count)
        self._sharing.begin(flow, arrived, self.priorities.get(source, 0))

    def collective(self, one: Together, ended: Ended) -> None:
        """Start a collective now that all members have arrived."""
        members = [npu for npu, _ in one.starts]
        flow = self._flows.collective(one.plan, one.operation.what.bytes, members)
        priority = self.priorities.get(members[0], 0)
        self._sharing.begin(flow, partial(ended, members), priority)
