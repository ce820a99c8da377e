"""Assignment of workers to NPUs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fred_hw.choices import not_one_of
from fred_hw.compiler.placement import (
    Strategy,
    cp_groups,
    dp_groups,
    ep_groups,
    expert_dp_groups,
    mp_groups,
)
from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology

from .across import Across, divisions
from .policy import POLICIES, fitting

__all__ = ["Placement", "fits", "place", "wafer_divisions"]


@dataclass(frozen=True)
class Placement:
    """Assignment of a strategy's workers to NPUs.

    Parameters
    ----------
    strategy : Strategy
        Strategy that is placed.
    npus : tuple of int
        NPU of each worker; its number is that of `Strategy.port`.
    policy : str
        Name of the placement policy.
    """

    strategy: Strategy
    npus: tuple[int, ...]
    policy: str

    def mp_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each MP (tensor-parallel) group of a stage, by DP, then CP."""
        return self._mp_groups[stage]

    def dp_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each data-parallel group of a stage, in order of MP."""
        return self._of_stage(dp_groups, stage)

    def cp_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each context-parallel group of a stage."""
        return self._of_stage(cp_groups, stage)

    def ep_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each expert group of a stage."""
        return self._of_stage(ep_groups, stage)

    def expert_dp_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each group of a stage that holds the same experts."""
        return self._of_stage(expert_dp_groups, stage)

    def _of_stage(
        self, grouped: Callable[[Strategy], Sequence[Sequence[int]]], stage: int
    ) -> tuple[tuple[int, ...], ...]:
        """Return the groups of one stage, given a grouping in stage order."""
        if grouped not in self._known:
            self._known[grouped] = self._on_npus(grouped(self.strategy))
        groups = self._known[grouped]
        each = len(groups) // self.strategy.pp
        return groups[stage * each : (stage + 1) * each]

    def multicasts(self, stage: int, to_stage: int) -> tuple[tuple[int, ...], ...]:
        """Return, per replica, one NPU of a stage followed by all NPUs of the stage it sends to."""
        senders, receivers = self.mp_groups(stage), self.mp_groups(to_stage)
        return tuple((a[0], *b) for a, b in zip(senders, receivers, strict=True))

    @cached_property
    def _mp_groups(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """MP groups of every stage, cached since each layer and microbatch needs them."""
        groups, pp, cp = self._on_npus(mp_groups(self.strategy)), self.strategy.pp, self.strategy.cp
        return tuple(
            tuple(group for n, group in enumerate(groups) if n // cp % pp == stage)
            for stage in range(pp)
        )

    @cached_property
    def _known(self) -> dict[object, tuple[tuple[int, ...], ...]]:
        """Cached groups of all stages, keyed by grouping function."""
        return {}

    def _on_npus(self, groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.npus[port] for port in group) for group in groups)


def place(
    topology: Topology, strategy: Strategy, policy: str = "linear", across: Across | None = None
) -> Placement:
    """Place workers in order: MP groups together, then PP, then DP.

    This is the placement of the FRED paper (arXiv 2406.19580). The policy is one of
    ``policy.POLICIES`` and says in which order the NPUs are taken, of several wafers on each.

    Parameters
    ----------
    topology : Topology
        Topology of the NPUs.
    strategy : Strategy
        Strategy of the workers.
    policy : str
        One of ``policy.POLICIES``.
    across : Across or None
        Division of the workers among several wafers; the first of :func:`wafer_divisions` if None.

    Raises
    ------
    InputError
        The strategy needs more NPUs than there are, or the policy is unknown or needs a mesh.
    """
    if strategy.workers > topology.npus:
        given = f"{strategy.workers} as {strategy}"
        allowed = f"must fit the {topology.npus} NPUs of {topology.name}, not need {given}"
        raise InputError("", "strategy", allowed)
    if policy not in POLICIES:
        raise InputError("", "placement", not_one_of(policy, ("auto", "anneal", *POLICIES)))
    wafer = topology.wafer or topology
    order = POLICIES[policy].walk(wafer)
    if order is None:
        allowed = ", ".join(fitting(topology))
        raise InputError("", "placement", f"must be {allowed} for {topology.name}, not {policy!r}")
    if topology.wafer is None:
        return Placement(strategy, tuple(order[: strategy.workers]), policy)
    across = across or wafer_divisions(topology, strategy)[0]
    places = map(across.place, range(strategy.workers))
    npus = tuple(number * wafer.npus + order[place] for number, place in places)
    return Placement(strategy, npus, ", ".join(filter(None, (policy, across.words))))


def fits(topology: Topology, strategy: Strategy) -> bool:
    """Return whether a topology has a place for each worker, and for each MP group on one wafer."""
    if strategy.workers > topology.npus:
        return False
    return topology.wafer is None or bool(divisions(strategy, topology.wafers, topology.wafer.npus))


def wafer_divisions(topology: Topology, strategy: Strategy) -> list[Across]:
    """Return the ways to divide a strategy among the wafers of a topology.

    Raises
    ------
    InputError
        There is none.
    """
    assert topology.wafer is not None
    wafers, npus = topology.wafers, topology.wafer.npus
    found = divisions(strategy, wafers, npus)
    if not found:
        allowed = f"must fit {wafers} wafers of {npus} NPUs with each MP group on one wafer"
        raise InputError("", "strategy", f"{allowed}, not {strategy}")
    return found
