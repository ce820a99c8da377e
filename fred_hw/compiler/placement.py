"""Workers of a parallel strategy on ports, and the flows of its communication phases."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fred_hw.checks import check_int

from .flows import Flow

__all__ = [
    "Groups",
    "Strategy",
    "cp_groups",
    "dp_groups",
    "ep_groups",
    "expert_dp_groups",
    "mp_groups",
    "phases",
    "strategies",
]

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, order=True)
class Strategy:
    """How a model is spread over workers; ``str()`` gives the text that :meth:`parse` takes.

    Parameters
    ----------
    mp, dp, pp : int
        Workers along the model-, data- and pipeline-parallel dimension, each at least 1. MP is
        tensor parallelism by the paper's name; in texts it may be TP.
    cp : int
        Workers that share out the sequence of a sample: context parallelism.
    ep : int
        Replicas that share out experts among them; divides ``dp``, of which it takes neighbours.
    sp : bool
        Whether MP groups split what is between their products, too: sequence parallelism.

    Raises
    ------
    ValueError
        A size is below 1, EP does not divide DP, or there is SP without MP.
    """

    mp: int
    dp: int
    pp: int
    cp: int = 1
    ep: int = 1
    sp: bool = False

    def __post_init__(self) -> None:
        for name in ("mp", "dp", "pp", "cp", "ep"):
            check_int(f"Strategy {name}", getattr(self, name), minimum=1)
        if self.dp % self.ep:
            raise ValueError(f"strategy must have an EP that divides DP, not {self}")
        if self.sp and self.mp == 1:
            raise ValueError(f"strategy must have MP of 2 or more with SP, not {self}")

    def __str__(self) -> str:
        more = "".join(f"-{n}{v}" for n, v in (("CP", self.cp), ("EP", self.ep)) if v > 1)
        return f"MP{self.mp}-DP{self.dp}-PP{self.pp}{more}{'-SP' if self.sp else ''}"

    @classmethod
    def parse(cls, text: str) -> "Strategy":
        """Return the strategy that ``text`` names, in capitals or small letters.

        Raises
        ------
        ValueError
            ``text`` is not of the form ``MP2-DP5-PP2`` or ``TP2-DP5-PP2``, perhaps with ``-CP2``,
            ``-EP5`` and ``-SP`` behind it in this order, or its sizes do not go together.
        """
        size = "([0-9]{1,9})"
        form = rf"[MT]P{size}-DP{size}-PP{size}(?:-CP{size})?(?:-EP{size})?(-SP)?"
        match = re.fullmatch(form, text.upper())
        if match is None:
            raise ValueError(f"strategy must be of the form MP2-DP5-PP2, not {text!r:.60}")
        *sizes, sequence = match.groups("1")
        return cls(*map(int, sizes), sp=sequence == "-SP")

    @property
    def workers(self) -> int:
        """Workers in all; each has a port."""
        return self.mp * self.cp * self.dp * self.pp

    @property
    def plain(self) -> bool:
        """Whether it is MP, DP and PP alone."""
        return self.cp == self.ep == 1 and not self.sp

    def port(self, mp: int, dp: int, pp: int, cp: int = 0) -> int:
        """Port of a worker: MP neighbours side by side, then CP, then PP, then DP.

        FRED, arXiv 2406.19580, on placement (our section 5); CP as in Llama 3, arXiv 2407.21783,
        section 3.3.2.

        Raises
        ------
        ValueError
            A coordinate is out of range.
        """
        check_int("worker mp", mp, minimum=0, maximum=self.mp - 1)
        check_int("worker dp", dp, minimum=0, maximum=self.dp - 1)
        check_int("worker pp", pp, minimum=0, maximum=self.pp - 1)
        check_int("worker cp", cp, minimum=0, maximum=self.cp - 1)
        return mp + self.mp * (cp + self.cp * (pp + self.pp * dp))

    @property
    def _ranges(self) -> tuple[range, range, range, range]:
        """MP, DP, PP and CP."""
        return range(self.mp), range(self.dp), range(self.pp), range(self.cp)


def mp_groups(strategy: Strategy) -> Groups:
    """Return the ports of each model-parallel group, in order of DP, then PP, then CP."""
    mp, dp, pp, cp = strategy._ranges
    return tuple(tuple(strategy.port(k, d, p, c) for k in mp) for d in dp for p in pp for c in cp)


def dp_groups(strategy: Strategy) -> Groups:
    """Return the ports of each group with the same weights, in order of PP, then MP.

    These are the replicas, and in each of them all that share out its sequences.
    """
    mp, dp, pp, cp = strategy._ranges
    return tuple(tuple(strategy.port(k, d, p, c) for d in dp for c in cp) for p in pp for k in mp)


def cp_groups(strategy: Strategy) -> Groups:
    """Return the ports of each context-parallel group, in order of PP, then DP, then MP."""
    mp, dp, pp, cp = strategy._ranges
    return tuple(tuple(strategy.port(k, d, p, c) for c in cp) for p in pp for d in dp for k in mp)


def ep_groups(strategy: Strategy) -> Groups:
    """Return the ports of each expert group, in order of PP, then DP, then CP, then MP."""
    mp, dp, pp, cp = strategy._ranges
    return tuple(
        tuple(strategy.port(k, first + e, p, c) for e in range(strategy.ep))
        for p in pp
        for first in dp[:: strategy.ep]
        for c in cp
        for k in mp
    )


def expert_dp_groups(strategy: Strategy) -> Groups:
    """Return the ports of each group with the same experts, in order of PP, then EP, then MP."""
    mp, dp, pp, cp = strategy._ranges
    return tuple(
        tuple(strategy.port(k, d, p, c) for d in dp[e :: strategy.ep] for c in cp)
        for p in pp
        for e in range(strategy.ep)
        for k in mp
    )


def phases(strategy: Strategy, *, ports: int | None = None) -> dict[str, tuple[Flow, ...]]:
    """Return by name the flows of each communication phase of one training iteration.

    All-reduce of every MP group, all-reduce of every DP group, and per pipeline step a multicast
    from worker mp = 0 of each stage to all workers of the next stage (forward) or of the one
    before (backward), for all stages and replicas at once. A phase whose groups have one worker
    is left out. Names, in this order, are ``mp_all_reduce``, ``dp_all_reduce``, ``pp_forward``
    and ``pp_backward``; flows come in the order of the groups.

    With SP, member i of each MP group gets the sum in ``sp_reduce_scatter_i`` and sends what it has
    in ``sp_all_gather_i``; so do CP groups in ``cp_all_gather_i`` and ``cp_reduce_scatter_i``. In
    ``ep_all_to_all_i`` each member of an expert group sends to the one i places on, and gradients
    of experts are reduced in ``ep_all_reduce`` (FRED, arXiv 2406.19580, section 5.2, has these
    patterns as such steps).

    Parameters
    ----------
    strategy : Strategy
        What is placed.
    ports : int, optional
        Ports of the switch that must have space for all workers, 2 or more.

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
    if strategy.sp:
        found.update(_scattered("sp", mp_groups(strategy)))
    elif strategy.mp > 1:
        found["mp_all_reduce"] = tuple(Flow(group, group) for group in mp_groups(strategy))
    if strategy.dp * strategy.cp > 1:
        found["dp_all_reduce"] = tuple(Flow(group, group) for group in dp_groups(strategy))
    if strategy.pp > 1:
        found["pp_forward"] = tuple(_stage_multicasts(strategy, 1))
        found["pp_backward"] = tuple(_stage_multicasts(strategy, -1))
    if strategy.cp > 1:
        found.update(_scattered("cp", cp_groups(strategy)))
    for away in range(1, strategy.ep):
        found[f"ep_all_to_all_{away}"] = tuple(
            Flow((group[i],), (group[(i + away) % strategy.ep],))
            for group in ep_groups(strategy)
            for i in range(strategy.ep)
        )
    if strategy.ep > 1 and strategy.dp * strategy.cp > strategy.ep:
        groups = expert_dp_groups(strategy)
        found["ep_all_reduce"] = tuple(Flow(group, group) for group in groups)
    return found


def _scattered(name: str, groups: Groups) -> Iterator[tuple[str, tuple[Flow, ...]]]:
    """Yield the phases of a reduce-scatter and an all-gather, one for each member of a group."""
    for i in range(len(groups[0])):
        yield f"{name}_reduce_scatter_{i}", tuple(Flow(group, (group[i],)) for group in groups)
    for i in range(len(groups[0])):
        yield (
            f"{name}_all_gather_{i}",
            tuple(Flow((group[i],), (*group[:i], *group[i + 1 :])) for group in groups),
        )


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
    mp, dp, pp, cp = strategy._ranges
    for d in dp:
        for p in pp:
            for c in cp if 0 <= p + direction < strategy.pp else ():
                receivers = [strategy.port(k, d, p + direction, c) for k in mp]
                yield Flow((strategy.port(0, d, p, c),), receivers)
