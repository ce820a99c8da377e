"""Communication of an iteration, each collective simulated once and cached."""

from collections.abc import Callable
from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy
from perfmodel.collectives.select import PUBLISHED
from perfmodel.constants import NUMBER_BYTES
from perfmodel.memory.access import MemoryLink, Tier
from perfmodel.memory.file import MemoryFile
from perfmodel.network.fluid.task import Profile
from perfmodel.network.run import FLUID, Endpoint, profile
from perfmodel.topology.graph import Topology

from .placement.place import Placement

__all__ = ["ROLES", "Groups", "Operations", "Role"]

Groups = tuple[tuple[int, ...], ...]
"""NPUs of each group; in a multicast the source is first."""


@dataclass(frozen=True, slots=True)
class Role:
    """Purpose of a communication.

    Parameters
    ----------
    kind : str
        Kind of its tasks: one of ``PRIORITIES``.
    groups : callable
        Returns the NPUs of each group of a stage, for messages including those of the destination
        stage.
    urgent : bool
        Whether it overtakes other communication in flight.
    concurrent : bool
        Whether other stages may do the same at any time meanwhile: switches need paths for all.
    """

    kind: str
    groups: Callable[[Placement, int, int], Groups]
    urgent: bool = False
    concurrent: bool = False


def _mp(placed: Placement, stage: int, _: int) -> Groups:
    return placed.mp_groups(stage)


def _dp(placed: Placement, stage: int, _: int) -> Groups:
    return placed.dp_groups(stage)


def _expert_dp(placed: Placement, stage: int, _: int) -> Groups:
    return placed.expert_dp_groups(stage)


ROLES = {
    "mp": Role("mp", _mp, urgent=True, concurrent=True),
    "cp": Role("cp", lambda placed, s, _: placed.cp_groups(s), urgent=True, concurrent=True),
    "ep": Role("ep", lambda placed, s, _: placed.ep_groups(s), urgent=True, concurrent=True),
    "pp": Role("pp", Placement.multicasts, urgent=True, concurrent=True),
    "dp": Role("dp", _dp, concurrent=True),
    "expert_dp": Role("dp", _expert_dp, concurrent=True),
    "weights": Role("weight_streaming", _dp),
    "expert_weights": Role("weight_streaming", _expert_dp),
    "gradients": Role("weight_streaming", _dp),
    "expert_gradients": Role("weight_streaming", _expert_dp),
    "input": Role("input_load", _mp),
}
"""Purposes of communication by name: ``weights`` and ``input`` are loaded from storage,
``gradients`` are stored there, and experts have separate groups."""


class Operations:
    """Communication of a placed strategy, for all replicas at the same time.

    Parameters
    ----------
    topology : Topology
        Topology of the iteration.
    placement : Placement
        NPU of each worker.
    algorithm : str
        Algorithm of collectives: ``published``, ``auto`` for the fastest one by itself, or for
        all-reduces only one of ``collectives.algorithm.ALGORITHMS``.
    memory : MemoryFile or None
        Memory of weights, gradients and input, over links of its own; None for storage behind the
        I/O controllers of the topology.
    network_model : str
        One of ``network.model.NETWORK_MODELS``: the model of the times of collectives.
    endpoint : Endpoint or None
        Endpoint that reads the memory of NPUs for collectives; None if that costs nothing.
    """

    def __init__(
        self,
        topology: Topology,
        placement: Placement,
        algorithm: str = PUBLISHED,
        memory: MemoryFile | None = None,
        *,
        network_model: str = FLUID,
        endpoint: Endpoint | None = None,
    ) -> None:
        self.topology = topology
        self.algorithm = algorithm
        self.placement = placement
        self.memory = memory
        self.network_model = network_model
        self.endpoint = endpoint
        self._tier = Tier(memory) if memory else None
        self._memory_links: dict[MemoryLink, int] = {}
        self.assumptions: dict[str, None] = {}
        self._known: dict[tuple[str, str, int, int, float], Profile | None] = {}

    @property
    def storage(self) -> str:
        """Assumptions about storage of weights, gradients and input."""
        if self.memory is None:
            return "storage keeps up with the I/O controllers"
        return f"remote memory ({self.memory.memory_type}) has links of its own to the NPUs"

    @property
    def capacities(self) -> list[float]:
        """Payload bandwidth of each link, then of endpoints, then of remote memory [B/s].

        Endpoints are listed if they cost anything: one for each NPU, with what it reads of memory.
        """
        tier = self._tier
        links = () if tier is None else self._memory_links
        return [*self._own_capacities, *(1e9 * tier.bytes_per_ns(one) for one in links if tier)]

    @property
    def _own_capacities(self) -> tuple[float, ...]:
        """Bandwidths of the topology's links and of the NPUs' endpoints [B/s]."""
        found = self.topology.capacities
        if self.endpoint:
            found += (self.endpoint.bytes_per_s,) * self.topology.npus
        return found

    def mp_reductions(self, stage: int, numbers: float) -> tuple[tuple[str, Profile], ...]:
        """Return the collectives that reduce activations along MP in a stage (-1: all), by name.

        These are an all-reduce, or with sequence parallelism a reduce-scatter and an all-gather of
        the same numbers (Korthikanti et al., arXiv 2205.05198, section 4.2.2).
        """
        patterns = ("reduce_scatter", "all_gather") if self._strategy.sp else ("all_reduce",)
        profiles = (
            (pattern.replace("_", "-"), self.communication("mp", pattern, stage, numbers))
            for pattern in patterns
        )
        return tuple((name, profile) for name, profile in profiles if profile is not None)

    def cp_exchange(self, pattern: str, stage: int, numbers: float) -> Profile | None:
        """Return an ``all_gather`` or ``reduce_scatter`` along CP of a total count of numbers."""
        return self.communication("cp", pattern, stage, numbers)

    def ep_all_to_all(self, stage: int, numbers: float) -> Profile | None:
        """Return the all-to-all in all expert groups; each NPU sends ``numbers`` in total."""
        return self.communication("ep", "all_to_all", stage, numbers)

    def pp_multicast(self, stage: int, to_stage: int, numbers: float) -> Profile | None:
        """Return the multicast from one NPU of a stage to all NPUs of another, per replica."""
        return self.communication("pp", "broadcast", stage, numbers, to_stage)

    def gradients(self, stage: int, numbers: float, shared: float) -> tuple[Profile, ...]:
        """Return the all-reduces of an NPU's gradients, with separate ones for experts."""
        return self._both("dp", "expert_dp", "all_reduce", stage, numbers, shared)

    def weights(self, stage: int, numbers: float, shared: float) -> tuple[Profile, ...]:
        """Return the streams of an NPU's weights from storage, with separate ones for experts."""
        return self._both("weights", "expert_weights", "stream_in", stage, numbers, shared)

    def stored(self, stage: int, numbers: float, shared: float) -> tuple[Profile, ...]:
        """Return the streams of an NPU's gradients, summed over DP, to storage; likewise."""
        return self._both("gradients", "expert_gradients", "stream_out", stage, numbers, shared)

    def _both(
        self, role: str, expert: str, pattern: str, stage: int, numbers: float, shared: float
    ) -> tuple[Profile, ...]:
        if self._strategy.ep == 1:
            shared = 0.0
        experts = self.communication(expert, pattern, stage, shared)
        others = self.communication(role, pattern, stage, numbers - shared)
        return tuple(one for one in (others, experts) if one)

    def load_input(self, numbers: float) -> Profile | None:
        """Return the input stream of each replica to the NPUs of the first stage."""
        return self.communication("input", "stream_in", 0, numbers)

    @property
    def _strategy(self) -> Strategy:
        return self.placement.strategy

    def communication(
        self, role: str, pattern: str, stage: int, numbers: float, to_stage: int = 0
    ) -> Profile | None:
        """Return the profile of a communication; None if nothing is moved.

        Parameters
        ----------
        role : str
            A name of ``ROLES``.
        pattern : str
            One of ``collectives.schedule.PATTERNS`` or of ``collectives.streaming.STREAMS``.
        stage : int
            Which pipeline stage does it; -1 for all at once.
        numbers : float
            Numbers of two bytes in the whole vector of each group.
        to_stage : int
            Which one it goes to, with the role ``pp``.
        """
        key = (role, pattern, stage, to_stage, numbers)
        if key not in self._known:  # tasks request the same few operations many times
            self._known[key] = self._simulated(*key)
        return self._known[key]

    def groups(self, role: str, stage: int, to_stage: int = 0) -> Groups:
        """Return the NPUs of each group of a communication; arguments as :meth:`communication`."""
        if stage < 0:
            return self._elsewhere(role, stage, to_stage)
        return ROLES[role].groups(self.placement, stage, to_stage)

    def _elsewhere(self, role: str, stage: int, to_stage: int) -> Groups:
        """Return the groups of all other stages; messages go equally many stages further."""
        step = to_stage - stage if role == "pp" else 0
        pp = self._strategy.pp
        ends = range(max(0, -step), pp - max(0, step))
        groups = ROLES[role].groups
        return tuple(
            group for s in ends if s != stage for group in groups(self.placement, s, s + step)
        )

    def _simulated(
        self, role: str, pattern: str, stage: int, to_stage: int, numbers: float
    ) -> Profile | None:
        if numbers <= 0:
            return None
        members, what = self.groups(role, stage, to_stage), ROLES[role]
        stream = pattern.startswith("stream")
        if not stream and len(members[0]) < 2:
            return None
        if self._tier and stream:
            return self._moved(self._tier, members, NUMBER_BYTES * numbers)
        named = self.algorithm not in ("auto", PUBLISHED)
        algorithm = PUBLISHED if named and pattern != "all_reduce" else self.algorithm
        concurrent = what.concurrent and stage >= 0
        found, assumptions = profile(
            self.topology,
            pattern,
            NUMBER_BYTES * numbers,
            members,
            algorithm,
            self._elsewhere(role, stage, to_stage) if concurrent else (),
            urgent=what.urgent,
            changes=self._changes(role),
            # As mesh endpoints do: the halves of gradients use less urgent virtual channels.
            second_first=what.kind == "dp",
            network_model=self.network_model,
            endpoint=self.endpoint,
        )
        self.assumptions.update(dict.fromkeys(assumptions))
        return found

    def _changes(self, role: str) -> int:
        """Return how often I/O controllers switch to this role from sending to another stage."""
        if role == "weights":
            return int(self._strategy.pp > 1)
        return int(role == "expert_weights")

    def _moved(self, tier: Tier, groups: Groups, bytes_each: float) -> Profile:
        """Return the transfer of bytes of each NPU from or to remote memory."""
        found, first = tier.access(groups, bytes_each), len(self._own_capacities)
        links = self._memory_links
        loads = tuple(
            (first + links.setdefault(link, len(links)), carried)
            for link, carried in found.loads.items()
            if carried
        )
        return Profile(1e-9 * found.time_ns, loads)
