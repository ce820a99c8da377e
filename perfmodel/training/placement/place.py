"""Which worker runs on which NPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fred_hw.compiler.placement import Strategy, dp_groups, mp_groups
from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology

from .policy import POLICIES, fitting

__all__ = ["Placement", "place"]


@dataclass(frozen=True)
class Placement:
    """Workers of a strategy on NPUs.

    Parameters
    ----------
    strategy : Strategy
        Its sizes.
    npus : tuple of int
        NPU of each worker; worker (mp, dp, pp) has number mp + MP * (pp + PP * dp).
    policy : str
        How they were placed, in a word.
    """

    strategy: Strategy
    npus: tuple[int, ...]
    policy: str

    def mp_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each tensor-parallel (MP) group of a stage, in order of DP."""
        return self._mp_groups[stage]

    def dp_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each data-parallel group of a stage, in order of MP."""
        mp = self.strategy.mp
        return self._dp_groups[stage * mp : (stage + 1) * mp]

    def multicasts(self, stage: int, to_stage: int) -> tuple[tuple[int, ...], ...]:
        """Return per replica one NPU of a stage, then all NPUs of another that it sends to."""
        senders, receivers = self.mp_groups(stage), self.mp_groups(to_stage)
        return tuple((a[0], *b) for a, b in zip(senders, receivers, strict=True))

    @cached_property
    def _mp_groups(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Those of every stage: an iteration asks for them for every layer and microbatch."""
        groups = self._on_npus(mp_groups(self.strategy))
        return tuple(groups[stage :: self.strategy.pp] for stage in range(self.strategy.pp))

    @cached_property
    def _dp_groups(self) -> tuple[tuple[int, ...], ...]:
        return self._on_npus(dp_groups(self.strategy))

    def _on_npus(self, groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.npus[port] for port in group) for group in groups)


def place(topology: Topology, strategy: Strategy, policy: str = "linear") -> Placement:
    """Place workers one after the other: an MP group together, then PP, then DP.

    This is the placement of the FRED paper (arXiv 2406.19580). The policy is one of
    ``policy.POLICIES`` and says in which order the NPUs are taken.

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
        allowed = ", ".join(("auto", "anneal", *POLICIES))
        raise InputError("", "placement", f"must be one of {allowed}, not {policy!r}")
    order = POLICIES[policy].walk(topology)
    if order is None:
        allowed = ", ".join(fitting(topology))
        raise InputError("", "placement", f"must be {allowed} for {topology.name}, not {policy!r}")
    return Placement(strategy, tuple(order[: strategy.workers]), policy)
