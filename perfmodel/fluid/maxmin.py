"""Max-min fair rates of flows on shared links, with strict priorities.

Progressive filling: all rates rise together until a link is full or a flow reaches its own limit;
the flows held back stop there and the others rise on. The result is the one max-min fair
allocation (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2). Flows of a more
urgent priority are served first, and those behind share what is left, as the virtual circuits of a
FRED switch do (arXiv 2406.19580: MP before PP before DP).
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Demand", "max_min_rates"]


@dataclass(frozen=True, slots=True)
class Demand:
    """What one flow asks of the links.

    Parameters
    ----------
    loads : tuple of (int, float)
        Link, and bytes on it for each byte of the flow. Several equal flows may count as one: the
        load is then that of all of them and the rate that of each.
    limit : float
        Largest rate of its own [B/s].
    priority : int
        A lower number is served first.
    """

    loads: tuple[tuple[int, float], ...]
    limit: float = float("inf")
    priority: int = 0


def max_min_rates(demands: Sequence[Demand], capacities: Sequence[float]) -> list[float]:
    """Return the rate of each flow [B/s].

    Parameters
    ----------
    demands : sequence of Demand
        The flows that are active; each crosses a link or has a limit.
    capacities : sequence of float
        Bandwidth of each link [B/s], above 0.
    """
    rates = [0.0] * len(demands)
    left: dict[int, float] = {}
    for priority in sorted({demand.priority for demand in demands}):
        rising = [i for i, demand in enumerate(demands) if demand.priority == priority]
        while rising:
            pull: dict[int, float] = {}
            for i in rising:
                for link, load in demands[i].loads:
                    pull[link] = pull.get(link, 0.0) + load
            shares = {
                link: max(0.0, left.get(link, capacities[link])) / load
                for link, load in pull.items()
                if load > 0
            }
            level = min(
                min(shares.values(), default=float("inf")), min(demands[i].limit for i in rising)
            )
            if level == float("inf"):
                raise ValueError("a flow must cross a link or have a limit")
            near = level * (1 + 1e-12)
            full = {link for link, share in shares.items() if share <= near}
            held = [
                i
                for i in rising
                if demands[i].limit <= near
                or any(link in full and load > 0 for link, load in demands[i].loads)
            ]
            for i in held:
                rates[i] = level
                for link, load in demands[i].loads:
                    left[link] = left.get(link, capacities[link]) - level * load
            stopped = set(held)
            rising = [i for i in rising if i not in stopped]
    return rates
