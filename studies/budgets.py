"""Gain of optimal bandwidth splits at every budget, as in LIBRA's first version.

Three networks of 4,096 NPUs and three transformers meet ten budgets of bandwidth and three
allocations (arXiv 2109.11762v1). Sizes, prices and workloads are those that the authors ship with
the later version, since the first does not print them: a reconstruction. All dimensions have
switches, as in the first version; those between chiplets have no price there.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from perfmodel.libra.constraint import Constraint
from perfmodel.libra.network import TIERS, Dimension, cost_per_byte_per_s
from perfmodel.libra.optimise import Allocation, equal_split, optimise
from perfmodel.libra.problem import Problem
from perfmodel.libra.workload import Workload, summed

__all__ = ["BUDGETS", "NETWORKS", "WORKLOADS", "BudgetPoint", "at_budget", "budget_points"]

BUDGETS = tuple(range(100, 1001, 100))
"""Total bandwidth of an NPU over all dimensions [GB/s]."""

NETWORKS = {
    "2D": {"node": 128, "pod": 32},
    "3D": {"package": 16, "node": 8, "pod": 32},
    "4D": {"chiplet": 4, "package": 8, "node": 4, "pod": 32},
}
"""Number of NPUs along each dimension, the innermost first, with the tier that sets its price."""


@dataclass(frozen=True, slots=True)
class _Model:
    """Two layers of a transformer in the files of the LIBRA authors.

    Parameters
    ----------
    compute_ms : float
        All compute of an iteration [ms].
    tensor : int
        NPUs that share each layer; all others are replicas.
    activations, gathered, gradients : float
        Bytes of the all-reduces of activations, of the all-gathers and of the all-reduce of
        gradients [B].
    """

    compute_ms: float
    tensor: int
    activations: float
    gathered: float
    gradients: float


_MODELS = {
    "Transformer-17B": _Model(327.148662, 1, 0.0, 0.0, 869449728.0),
    "Transformer-175B": _Model(684.448242, 16, 6442450944.0, 100663296.0, 452984832.0),
    "Transformer-1T": _Model(169.995114, 128, 6442450944.0, 12582912.0, 226492416.0),
}

WORKLOADS = tuple(_MODELS)
"""Workload names: the files of Turing-NLG, GPT-3 and MSFT-1T."""


@dataclass(frozen=True, slots=True)
class BudgetPoint:
    """One network, workload and budget.

    Parameters
    ----------
    network, workload : str
        A name of ``NETWORKS`` and one of ``WORKLOADS``.
    gb_per_s : float
        Budget [GB/s].
    equal, fastest, cheapest : Allocation
        Equal bandwidths, the least time, and the least product of time and cost.
    """

    network: str
    workload: str
    gb_per_s: float
    equal: Allocation
    fastest: Allocation
    cheapest: Allocation

    @property
    def speedup(self) -> float:
        """Time with equal bandwidths divided by the least time."""
        return self.equal.time_s / self.fastest.time_s

    @property
    def gain(self) -> float:
        """Time x cost with equal bandwidths divided by the least such product."""
        return self.equal.value / self.cheapest.value


def budget_points() -> Iterator[BudgetPoint]:
    """Yield all points of the study, workload by workload."""
    for workload in WORKLOADS:
        for network in NETWORKS:
            for budget in BUDGETS:
                yield at_budget(network, workload, budget)


def at_budget(network: str, workload: str, gb_per_s: float) -> BudgetPoint:
    """Return one point of the study."""
    tiers = NETWORKS[network]
    dimensions = [Dimension.priced("switch", npus, TIERS[tier]) for tier, npus in tiers.items()]
    costs = cost_per_byte_per_s(dimensions)
    total = Constraint("total", (1.0,) * len(tiers), True, gb_per_s * 1e9)
    work = (_workload(workload, [*tiers.values()]),)
    time, product = (
        Problem(work, (total,), costs, len(tiers), objective)
        for objective in ("time", "time_x_cost")
    )
    fastest = optimise(time)
    equal = equal_split(product, fastest.bytes_per_s)
    return BudgetPoint(network, workload, gb_per_s, equal, fastest, optimise(product))


def _workload(name: str, sizes: list[int]) -> Workload:
    """Return a workload on dimensions of given sizes, sharded over the innermost NPUs."""
    model = _MODELS[name]
    tensor: list[int] = []
    left = model.tensor
    for size in sizes:
        tensor.append(min(size, left))
        left //= tensor[-1]
    replicas = [size // own for size, own in zip(sizes, tensor, strict=True)]
    calls = [
        ("all_reduce", model.activations, (*tensor,)),
        ("all_gather", model.gathered, (*tensor,)),
        ("all_reduce", model.gradients, (*replicas,)),
    ]
    return Workload(name, model.compute_ms / 1e3, summed(calls))
