"""Division of a strategy among several wafers: MP and CP stay on a wafer, DP and PP may not."""

from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy

__all__ = ["Across", "divisions"]


@dataclass(frozen=True, slots=True)
class Across:
    """Wafers along PP and along DP; each has consecutive stages and replicas.

    Parameters
    ----------
    strategy : Strategy
        Strategy to divide.
    pp, dp : int
        Wafers along each dimension.
    groups : int
        MP groups of each wafer, which takes them in the order of workers: some replicas then have
        stages on two wafers. 0 where the wafers divide PP and DP.
    """

    strategy: Strategy
    pp: int
    dp: int
    groups: int = 0

    @property
    def stages(self) -> int:
        """Pipeline stages of a wafer at most."""
        return -(-self.strategy.pp // self.pp)

    @property
    def replicas(self) -> int:
        """Replicas of which a wafer has stages, at most."""
        return -(-self.strategy.dp // self.dp)

    @property
    def workers(self) -> int:
        """Workers of a wafer at most."""
        return self.strategy.mp * self.strategy.cp * self.stages * self.replicas

    @property
    def words(self) -> str:
        """What spans wafers, in words; empty if one wafer has all workers."""
        if self.groups:
            return f"MP groups in order over {self.dp} wafers"
        found = [f"{n} over {v} wafers" for n, v in (("PP", self.pp), ("DP", self.dp)) if v > 1]
        return " and ".join(found)

    def place(self, port: int) -> tuple[int, int]:
        """Return the wafer of a worker, and its place among the workers of this wafer."""
        inner = self.strategy.mp * self.strategy.cp
        rest, unit = divmod(port, inner)
        if self.groups:
            wafer, group = divmod(rest, self.groups)
            return wafer, unit + inner * group
        replica, stage = divmod(rest, self.strategy.pp)
        across, replica = divmod(replica, self.replicas)
        along, stage = divmod(stage, self.stages)
        return along + self.pp * across, unit + inner * (stage + self.stages * replica)


def divisions(strategy: Strategy, wafers: int, npus: int) -> list[Across]:
    """Return the divisions that use no more wafers along PP or DP than needed.

    They are those that fit, of which none has fewer wafers along one dimension and no more along
    the other; the fewest along PP first. If none fits, MP groups fill the wafers in their order.
    The list is empty if MP groups do not fit without being split.

    Parameters
    ----------
    strategy : Strategy
        Strategy to divide.
    wafers, npus : int
        Wafers at most, and NPUs of each.
    """
    inner = strategy.mp * strategy.cp
    groups = npus // inner  # MP groups that fit one wafer
    found: list[Across] = []
    for pp in range(1, min(strategy.pp, wafers) + 1):
        # A wafer has all of its stages of as many replicas as fit.
        if not (replicas := groups // -(-strategy.pp // pp)):
            continue
        dp = -(-strategy.dp // replicas)
        if pp * dp <= wafers and (not found or dp < found[-1].dp):
            found.append(Across(strategy, pp, dp))
    if not found and wafers * groups * inner >= strategy.workers:
        return [Across(strategy, 1, -(-strategy.workers // inner // groups), groups)]
    return found
