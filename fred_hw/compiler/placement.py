"""Workers of a 3D-parallel strategy on ports, and the flows of its communication phases."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fred_hw.checks import check_int

from .flows import Flow

__all__ = ["Strategy", "dp_groups", "mp_groups", "phases", "pp_groups", "strategies"]

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, order=True)
class Strategy:
    """How a model is spread over workers; ``str()`` gives the text that :meth:`parse` takes.

    Parameters
    ----------
    mp, dp, pp : int
        Workers along the model-, data- and pipeline-parallel dimension, each at least 1.
    """

    mp: int
    dp: int
    pp: int

    def __post_init__(self) -> None:
        for name in ("mp", "dp", "pp"):
            check_int(f"Strategy {name}", getattr(self, name), minimum=1)

    def __str__(self) -> str:
        return f"MP{self.mp}-DP{self.dp}-PP{self.pp}"

    @classmethod
    def parse(cls, text: str) -> "Strategy":
        """Return the strategy that ``text`` names.

        Raises
        ------
        ValueError
            ``text`` is not of the form ``MP2-DP5-PP2``, or a dimension is 0.
        """
        match = re.fullmatch(r"MP([0-9]{1,9})-DP([0-9]{1,9})-PP([0-9]{1,9})", text)
        if match is None:
            raise ValueError(f"strategy must be of the form MP2-DP5-PP2, not {text!r}")
        return cls(*map(int, match.groups()))

    @property
    def workers(self) -> int:
        """Workers in all; each has a port."""
        return self.mp * self.dp * self.pp

    def port(self, mp: int, dp: int, pp: int) -> int:
        """Port of a worker: MP neighbours side by side, then PP, then DP.

        FRED, arXiv 2406.19580, on placement (our section 5).

        Raises
        ------
        ValueError
            A coordinate is out of range.
        """
        check_int("worker mp", mp, minimum=0, maximum=self.mp - 1)
        check_int("worker dp", dp, minimum=0, maximum=self.dp - 1)
        check_int("worker pp", pp, minimum=0, maximum=self.pp - 1)
        return mp + self.mp * (pp + self.pp * dp)


def mp_groups(strategy: Strategy) -> Groups:
    """Return the ports of each model-parallel group, in order of DP, then PP."""
    mp, dp, pp = (range(size) for size in (strategy.mp, strategy.dp, strategy.pp))
    return tuple(tuple(strategy.port(k, d, p) for k in mp) for d in dp for p in pp)


def dp_groups(strategy: Strategy) -> Groups:
    """Return the ports of each data-parallel group, in order of PP, then MP."""
    mp, dp, pp = (range(size) for size in (strategy.mp, strategy.dp, strategy.pp))
    return tuple(tuple(strategy.port(k, d, p) for d in dp) for p in pp for k in mp)


def pp_groups(strategy: Strategy) -> Groups:
    """Return the ports of each pipeline, first stage first, in order of DP, then MP."""
    mp, dp, pp = (range(size) for size in (strategy.mp, strategy.dp, strategy.pp))
    return tuple(tuple(strategy.port(k, d, p) for p in pp) for d in dp for k in mp)


def phases(strategy: Strategy, *, ports: int | None = None) -> dict[str, tuple[Flow, ...]]:
    """Return by name the flows of each communication phase of one training iteration.

    All-reduce of every MP group, all-reduce of every DP group, and per pipeline step a multicast
    from worker mp = 0 of each stage to all workers of the next stage (forward) or of the one
    before (backward), for all stages and replicas at once. A phase whose groups have one worker
    is left out. Names, in this order, are ``mp_all_reduce``, ``dp_all_reduce``, ``pp_forward``
    and ``pp_backward``; flows come in the order of the groups.

    Parameters
    ----------
    strategy : Strategy
        What is placed.
    ports : int, optional
        Ports of the switch that must have room for all workers, 2 or more.

    Raises
    ------
    ValueError
        The strategy has more workers than the switch has ports.
    """
    if ports is not None and strategy.workers > check_int("ports", ports, minimum=2):
        raise ValueError(
            f"strategy {strategy} must have at most as many workers as the switch has ports "
            f"({ports}), not {strategy.workers}"
        )
    found: dict[str, tuple[Flow, ...]] = {}
    if strategy.mp > 1:
        found["mp_all_reduce"] = tuple(Flow(group, group) for group in mp_groups(strategy))
    if strategy.dp > 1:
        found["dp_all_reduce"] = tuple(Flow(group, group) for group in dp_groups(strategy))
    if strategy.pp > 1:
        found["pp_forward"] = tuple(_stage_multicasts(strategy, 1))
        found["pp_backward"] = tuple(_stage_multicasts(strategy, -1))
    return found


def strategies(workers_max: int) -> tuple[Strategy, ...]:
    """Return every strategy of at most ``workers_max`` workers, in order of MP, DP, PP.

    Parameters
    ----------
    workers_max : int
        Most workers, at least 1.
    """
    check_int("workers_max", workers_max, minimum=1)
    return tuple(
        Strategy(mp, dp, pp)
        for mp in range(1, workers_max + 1)
        for dp in range(1, workers_max // mp + 1)
        for pp in range(1, workers_max // (mp * dp) + 1)
    )


def _stage_multicasts(strategy: Strategy, direction: int) -> Iterator[Flow]:
    for dp in range(strategy.dp):
        for pp in range(strategy.pp):
            if 0 <= pp + direction < strategy.pp:
                receivers = [strategy.port(k, dp, pp + direction) for k in range(strategy.mp)]
                yield Flow((strategy.port(0, dp, pp),), receivers)
