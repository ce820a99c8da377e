"""What each communication of an iteration takes, simulated once and remembered."""

from collections.abc import Callable

from perfmodel.collectives.run import profile
from perfmodel.collectives.select import PUBLISHED
from perfmodel.constants import NUMBER_BYTES
from perfmodel.fluid.task import Profile
from perfmodel.topology.graph import Topology

from .placement.place import Placement

__all__ = ["PRIORITIES", "Operations"]

_Groups = tuple[tuple[int, ...], ...]

PRIORITIES = {"mp": 0, "pp": 1, "dp": 2, "weight_streaming": 3, "input_load": 4}
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
    """

    def __init__(
        self, topology: Topology, placement: Placement, algorithm: str = PUBLISHED
    ) -> None:
        self.topology = topology
        self.algorithm = algorithm
        self.placement = placement
        self.assumptions: dict[str, None] = {}
        self._known: dict[tuple[str, int, int, float], Profile | None] = {}

    def mp_all_reduce(self, stage: int, numbers: float) -> Profile | None:
        """Return the all-reduce in all tensor-parallel (MP) groups of a stage; None if MP is 1."""
        return self._profile(
            ("all_reduce", stage, 0, numbers),
            lambda: self.placement.mp_groups(stage),
            lambda: self._elsewhere(self.placement.mp_groups, stage),
            urgent=True,
        )

    def mp_all_reduce_everywhere(self, numbers: float) -> Profile | None:
        """Return the all-reduce of activations in all MP groups of all stages at once."""
        return self._profile(
            ("all_reduce", -1, 0, numbers),
            lambda: self._elsewhere(self.placement.mp_groups, -1),
            urgent=True,
        )

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
            self._known[key] = self._simulated(key, groups(), beside(), urgent, changes)
        return self._known[key]

    def _simulated(
        self,
        key: tuple[str, int, int, float],
        groups: _Groups,
        beside: _Groups,
        urgent: bool,
        changes: int,
    ) -> Profile | None:
        pattern, _, _, numbers = key
        if numbers <= 0 or (not pattern.startswith("stream") and len(groups[0]) < 2):
            return None
        named = self.algorithm not in ("auto", PUBLISHED)
        algorithm = PUBLISHED if named and pattern != "all_reduce" else self.algorithm
        found, assumptions = profile(
            self.topology,
            pattern,
            NUMBER_BYTES * numbers,
            groups,
            algorithm,
            beside,
            urgent=urgent,
            changes=changes,
        )
        self.assumptions.update(dict.fromkeys(assumptions))
        return found
