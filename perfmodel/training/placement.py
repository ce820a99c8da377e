"""Which worker runs on which NPU."""

from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy, dp_groups, mp_groups
from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshTopology

__all__ = ["POLICIES", "Placement", "place"]

POLICIES = ("linear", "snake", "columns", "column_snake", "blocks")
"""Ways to walk over the NPUs while placing workers one after the other."""


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
        """Return the NPUs of each model-parallel group of a stage, in order of DP."""
        groups = mp_groups(self.strategy)[stage :: self.strategy.pp]
        return tuple(self._on_npus(group) for group in groups)

    def dp_groups(self, stage: int) -> tuple[tuple[int, ...], ...]:
        """Return the NPUs of each data-parallel group of a stage, in order of MP."""
        mp = self.strategy.mp
        groups = dp_groups(self.strategy)[stage * mp : (stage + 1) * mp]
        return tuple(self._on_npus(group) for group in groups)

    def multicasts(self, stage: int, to_stage: int) -> tuple[tuple[int, ...], ...]:
        """Return per replica one NPU of a stage, then all NPUs of another that it sends to."""
        senders, receivers = self.mp_groups(stage), self.mp_groups(to_stage)
        return tuple((a[0], *b) for a, b in zip(senders, receivers, strict=True))

    def _on_npus(self, ports: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.npus[port] for port in ports)


def place(topology: Topology, strategy: Strategy, policy: str = "linear") -> Placement:
    """Place workers one after the other: an MP group together, then PP, then DP.

    This is the placement of the FRED paper (arXiv 2406.19580). ``linear`` walks over the NPUs in
    order of their numbers, on a mesh row by row; ``columns`` walks column by column; ``snake`` and
    ``column_snake`` turn at each end; ``blocks`` walks over squares of 2 x 2.

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
    order = list(range(topology.npus))
    if policy != "linear":
        if not isinstance(topology, MeshTopology):
            raise InputError("", "placement", f"must be linear for {topology.name}, not {policy!r}")
        order = _walk(topology, policy)
    return Placement(strategy, tuple(order[: strategy.workers]), policy)


def _walk(mesh: MeshTopology, policy: str) -> list[int]:
    columns, rows = mesh.columns, mesh.rows
    if policy in ("columns", "column_snake"):
        turn = policy == "column_snake"
        return [
            x + columns * (rows - 1 - y if turn and x % 2 else y)
            for x in range(columns)
            for y in range(rows)
        ]
    if policy == "snake":
        return [
            (x if y % 2 == 0 else columns - 1 - x) + columns * y
            for y in range(rows)
            for x in range(columns)
        ]
    order: list[int] = []
    for top in range(0, rows, 2):
        for left in range(0, columns, 2):
            square = ((left, top), (left + 1, top), (left + 1, top + 1), (left, top + 1))
            order += [x + columns * y for x, y in square if x < columns and y < rows]
    return order
