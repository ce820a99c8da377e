"""What each communication of an iteration takes, simulated once and remembered."""

from collections.abc import Callable

from fred_hw.compiler.placement import Strategy
from perfmodel.collectives.run import profile
from perfmodel.collectives.select import PUBLISHED
from perfmodel.constants import NUMBER_BYTES
from perfmodel.fluid.task import Profile
from perfmodel.memory.access import MemoryLink, Tier
from perfmodel.memory.file import MemoryFile
from perfmodel.topology.graph import Topology

from .placement.place import Placement

__all__ = ["PRIORITIES", "Operations"]

_Groups = tuple[tuple[int, ...], ...]

PRIORITIES = {"mp": 0, "cp": 0, "ep": 0, "pp": 1, "dp": 2, "weight_streaming": 3, "input_load": 4}
"""Order of service: MP before PP before DP as in the switch (FRED, arXiv 2406.19580), then I/O."""


class Operations:
    """Communication of a placed strategy, all replicas at once.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    placement : Placement
        Who takes part.
    algorithm : str
        Of collectives: ``published``, ``auto`` for the one that is fastest by itself, or of
        all-reduces alone one of ``collectives.algorithm.ALGORITHMS``.
    memory : MemoryFile or None
        Where weights, gradients and input are, over links of its own; None for storage behind the
        I/O controllers of the topology.
    """

    def __init__(
        self,
        topology: Topology,
        placement: Placement,
        algorithm: str = PUBLISHED,
        memory: MemoryFile | None = None,
    ) -> None:
        self.topology = topology
        self.algorithm = algorithm
        self.placement = placement
        self.memory = memory
        self._tier = Tier(memory) if memory else None
        self._memory_links: dict[MemoryLink, int] = {}
        self.assumptions: dict[str, None] = {}
        self._known: dict[tuple[str, int, int, float], Profile | None] = {}

    @property
    def storage(self) -> str:
        """What weights, gradients and input take for granted."""
        if self.memory is None:
            return "storage keeps up with the I/O controllers"
        return f"remote memory ({self.memory.memory_type}) has links of its own to the NPUs"

    @property
    def capacities(self) -> list[float]:
        """Payload bandwidth of each link of the topology, then of those to the memory [B/s]."""
        tier = self._tier
        links = () if tier is None else self._memory_links
        return [
            *self.topology.capacities,
            *(1e9 * tier.bytes_per_ns(one) for one in links if tier),
        ]

    def mp_reductions(self, stage: int, numbers: float) -> tuple[tuple[str, Profile], ...]:
        """Return by name what adds up activations along MP in a stage, or in all if it is -1.

        That is an all-reduce, or with sequence parallelism a reduce-scatter and an all-gather of
        the same numbers (Korthikanti et al., arXiv 2205.05198, section 4.2.2).
        """
        patterns = ("reduce_scatter", "all_gather") if self._strategy.sp else ("all_reduce",)

        def found(pattern: str) -> Profile | None:
            groups = self.placement.mp_groups
            if stage < 0:
                return self._profile(
                    (pattern, -1, 0, numbers), lambda: self._elsewhere(groups, -1), urgent=True
                )
            return self._profile(
                (pattern, stage, 0, numbers),
                lambda: groups(stage),
                lambda: self._elsewhere(groups, stage),
                urgent=True,
            )

        profiles = ((pattern.replace("_", "-"), found(pattern)) for pattern in patterns)
        return tuple((name, profile) for name, profile in profiles if profile is not None)

    def cp_exchange(self, pattern: str, stage: int, numbers: float) -> Profile | None:
        """Return an ``all_gather`` or a ``reduce_scatter`` of so many numbers in all along CP."""
        return self._profile(
            (pattern, stage, 1, numbers),
            lambda: self.placement.cp_groups(stage),
            lambda: self._elsewhere(self.placement.cp_groups, stage),
            urgent=True,
        )

    def ep_all_to_all(self, stage: int, numbers: float) -> Profile | None:
        """Return the all-to-all in all expert groups; each NPU has so many numbers for all."""
        return self._profile(
            ("all_to_all", stage, 0, numbers),
            lambda: self.placement.ep_groups(stage),
            lambda: self._elsewhere(self.placement.ep_groups, stage),
            urgent=True,
        )

    def gradients(self, stage: int, numbers: float, shared: float) -> tuple[Profile, ...]:
        """Return the all-reduces of an NPU's gradients, of which some are of shared experts."""
        if self._strategy.ep == 1:
            shared = 0.0
        experts = self._profile(
            ("all_reduce", stage, 2, shared),
            lambda: self.placement.expert_dp_groups(stage),
            lambda: self._elsewhere(self.placement.expert_dp_groups, stage),
        )
        return tuple(one for one in (self.dp_all_reduce(stage, numbers - shared), experts) if one)

    def weights(self, stage: int, numbers: float, shared: float) -> tuple[Profile, ...]:
        """Return the streams of an NPU's weights from storage, experts by themselves."""
        return self._streams("stream_in", stage, numbers, shared)

    def stored(self, stage: int, numbers: float, shared: float) -> tuple[Profile, ...]:
        """Return the streams of an NPU's gradients to storage, likewise."""
        return self._streams("stream_out", stage, numbers, shared)

    def _streams(
        self, pattern: str, stage: int, numbers: float, shared: float
    ) -> tuple[Profile, ...]:
        if self._strategy.ep == 1:
            shared = 0.0
        stream = self.load_weights if pattern == "stream_in" else self.store_gradients
        experts = self._profile(
            (pattern, stage, 2, shared),
            lambda: self.placement.expert_dp_groups(stage),
            changes=int(pattern == "stream_in"),
        )
        return tuple(one for one in (stream(stage, numbers - shared), experts) if one)

    @property
    def _strategy(self) -> Strategy:
        return self.placement.strategy

    def dp_all_reduce(self, stage: int, numbers: float) -> Profile | None:
        """Return the all-reduce of so many gradients per NPU of a stage; None if DP is 1."""
        return self._profile(
            ("all_reduce", stage, 1, numbers),
            lambda: self.placement.dp_groups(stage),
            lambda: self._elsewhere(self.placement.dp_groups, stage),
        )

    def pp_multicast(self, stage: int, to_stage: int, numbers: float) -> Profile | None:
        """Return the multicast from one NPU of a stage to all NPUs of another, in each replica."""
        return self._profile(
            ("broadcast", stage, 2 + to_stage, numbers),
            lambda: self.placement.multicasts(stage, to_stage),
            lambda: self._multicasts_elsewhere(stage, to_stage - stage),
            urgent=True,
        )

    def load_weights(self, stage: int, numbers: float) -> Profile | None:
        """Return the stream of so many weights per NPU from storage to a stage."""
        return self._profile(
            ("stream_in", stage, 0, numbers),
            lambda: self.placement.dp_groups(stage),
            # Before it an I/O controller has sent to another stage.
            changes=int(self.placement.strategy.pp > 1),
        )

    def store_gradients(self, stage: int, numbers: float) -> Profile | None:
        """Return the stream of so many gradients per NPU to storage, added up over DP."""
        return self._profile(
            ("stream_out", stage, 0, numbers), lambda: self.placement.dp_groups(stage)
        )

    def load_input(self, numbers: float) -> Profile | None:
        """Return the stream of so many numbers for each replica to the NPUs of the first stage."""
        return self._profile(("stream_in", 0, 1, numbers), lambda: self.placement.mp_groups(0))

    def _elsewhere(self, groups: Callable[[int], _Groups], stage: int) -> _Groups:
        """Return the groups of all stages but one."""
        others = (s for s in range(self.placement.strategy.pp) if s != stage)
        return tuple(group for other in others for group in groups(other))

    def _multicasts_elsewhere(self, stage: int, step: int) -> _Groups:
        """Return those of all stages but one to the stage so many further on."""
        ends = range(max(0, -step), self.placement.strategy.pp - max(0, step))
        others = (s for s in ends if s != stage)
        return tuple(
            group for other in others for group in self.placement.multicasts(other, other + step)
        )

    def _profile(
        self,
        key: tuple[str, int, int, float],
        groups: Callable[[], _Groups],
        beside: Callable[[], _Groups] = lambda: (),
        *,
        urgent: bool = False,
        changes: int = 0,
    ) -> Profile | None:
        """Return the profile of a pattern at a stage, of a kind there, and of so many numbers.

        Groups are only asked for where it is not known: tasks ask for the same few many times.
        """
        if key not in self._known:
            self._known[key] = self._simulated(key, groups, beside, urgent, changes)
        return self._known[key]

    def _simulated(
        self,
        key: tuple[str, int, int, float],
        groups: Callable[[], _Groups],
        beside: Callable[[], _Groups],
        urgent: bool,
        changes: int,
    ) -> Profile | None:
        pattern, _, _, numbers = key
        if numbers <= 0:
            return None
        members = groups()
        if not pattern.startswith("stream") and len(members[0]) < 2:
            return None
        if self._tier and pattern.startswith("stream"):
            return self._moved(self._tier, members, NUMBER_BYTES * numbers)
        named = self.algorithm not in ("auto", PUBLISHED)
        algorithm = PUBLISHED if named and pattern != "all_reduce" else self.algorithm
        found, assumptions = profile(
            self.topology,
            pattern,
            NUMBER_BYTES * numbers,
            members,
            algorithm,
            beside(),
            urgent=urgent,
            changes=changes,
        )
        self.assumptions.update(dict.fromkeys(assumptions))
        return found

    def _moved(self, tier: Tier, groups: _Groups, bytes_each: float) -> Profile:
        """Return what it takes to move so many bytes of each NPU from or to the memory."""
        found, first = tier.access(groups, bytes_each), len(self.topology.capacities)
        links = self._memory_links
        loads = tuple(
            (first + links.setdefault(link, len(links)), carried)
            for link, carried in found.loads.items()
            if carried
        )
        return Profile(1e-9 * found.time_ns, loads)
