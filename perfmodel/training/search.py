"""Placement search on a mesh: comparison of policies, and simulated annealing.

In FRED every NPU is equally near to its switch, so the paper's placement is kept. On a mesh the
position of neighbours matters, and the mesh is compared with its best placement.
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fred_hw.progress import track
from perfmodel.endpoint.model import IDEAL
from perfmodel.network.fluid.task import Profile
from perfmodel.network.run import FLUID
from perfmodel.workloads.workload import Workload

from .iteration import Plan
from .operations import Operations
from .placement.place import Placement, place, wafer_divisions
from .placement.policy import fitting
from .request import Request
from .share import share_out

__all__ = [
    "ALIKE",
    "Round",
    "anneal",
    "busiest_link_s",
    "communication_s",
    "default_placement",
    "rounds",
]


ALIKE = 1e-3
"""Relative difference up to which the times of walks count as equal."""


@dataclass(frozen=True, slots=True)
class Round:
    """Collectives that run ``times`` times, either concurrently or in sequence.

    Parameters
    ----------
    times : float
        Number of times that they run in an iteration.
    profiles : tuple of Profile
        The collectives.
    at_once : bool
        Whether they run at the same time.
    """

    times: float
    profiles: tuple[Profile, ...]
    at_once: bool

    @property
    def time_s(self) -> float:
        found = [one.time_s for one in self.profiles]
        return self.times * (max(found, default=0.0) if self.at_once else sum(found))


def communication_s(
    operations: Operations, workload: Workload, *, recomputed: bool = False
) -> float:
    """Return the total time of an iteration's communication without overlap [s].

    Every collective counts as often as the stage with the most of them runs it, and those along MP
    run in all stages at once. Placements are optimised for this time, as it needs no compute times.
    ``recomputed`` is as for :func:`rounds`.
    """
    return sum(one.time_s for one in rounds(operations, workload, recomputed=recomputed))


def busiest_link_s(
    operations: Operations, workload: Workload, *, recomputed: bool = False
) -> float:
    """Return how long an iteration's communication occupies the busiest link [s]."""
    busy: dict[int, float] = {}
    for one in rounds(operations, workload, recomputed=recomputed):
        for profile in one.profiles:
            for link, carried in profile.loads:
                busy[link] = busy.get(link, 0.0) + one.times * carried
    capacities = operations.capacities
    return max((carried / capacities[link] for link, carried in busy.items()), default=0.0)


def rounds(
    operations: Operations, workload: Workload, *, recomputed: bool = False
) -> Iterator[Round]:
    """Yield the collectives of an iteration, ignoring dependencies.

    Parameters
    ----------
    operations : Operations
        Communication of a placed strategy.
    workload : Workload
        Workload to train.
    recomputed : bool
        Whether each backward pass runs the forward pass of its layers again, with its collectives.
    """
    strategy = operations.placement.strategy
    network = share_out(workload.network, strategy)
    layers = network.layers
    samples = workload.samples_per_replica / workload.microbatches
    stages, passes = range(strategy.pp), 3 if recomputed else 2

    def some(times: float, found: Iterable[Profile | None], *, at_once: bool = True) -> Round:
        return Round(times, tuple(one for one in found if one), at_once)

    widest = max(layers, key=lambda layer: layer.mp_reductions)
    numbers = widest.mp_reduced_numbers * samples
    times = (
        passes * sum(layer.mp_reductions for layer in layers) * workload.microbatches / strategy.pp
    )
    yield some(times, [one for _, one in operations.mp_reductions(-1, numbers)], at_once=False)
    widest = max(layers, key=lambda layer: layer.all_to_alls)
    numbers = widest.all_to_all_numbers * samples / strategy.mp
    times = (
        passes * sum(layer.all_to_alls for layer in layers) * workload.microbatches / strategy.pp
    )
    yield some(times, [operations.ep_all_to_all(s, numbers) for s in stages])
    numbers = max(layer.cp_numbers for layer in layers) * samples / strategy.mp
    times = sum(layer.cp_numbers > 0 for layer in layers) * workload.microbatches / strategy.pp
    for count, pattern in ((passes, "all_gather"), (1, "reduce_scatter")):
        exchanges = [operations.cp_exchange(pattern, s, numbers) for s in stages]
        yield some(count * times, exchanges)
    handed_on = layers[len(layers) // 2].output_numbers * samples
    streaming = workload.mode == "streaming"
    hops = [(s, s + 1) for s in stages[:-1]] + ([(strategy.pp - 1, 0)] if streaming else [])
    if strategy.pp > 1:
        sends = 2 * workload.microbatches * (len(layers) / strategy.pp if streaming else 1)
        yield some(sends, [operations.pp_multicast(a, b, handed_on) for a, b in hops])
    weights = network.parameters / strategy.mp / strategy.pp
    shared = sum(layer.shared_parameters for layer in layers) / strategy.mp / strategy.pp
    if streaming:
        for stream in (operations.weights, operations.stored):
            yield some(1, [p for s in stages for p in stream(s, weights, shared)], at_once=False)
    else:
        yield some(1, [p for s in stages for p in operations.gradients(s, weights, shared)])


def default_placement(
    request: Request, judge: Callable[[Placement], float] | None = None
) -> Placement:
    """Return the default placement of a request.

    On a mesh, ``auto`` takes the best of the policies marked ``auto``: the placement with the least
    communication. On several wafers it also tries PP and DP across wafers. Between equal placements
    it takes the one that occupies the busiest link for the least time, because collectives of
    several stages run at once. ``anneal`` starts from this placement and searches further.

    Parameters
    ----------
    request : Request
        Iteration to place.
    judge : callable or None
        Time of an iteration with a placement [s]. A result of ``anneal`` must reduce it too.

    Raises
    ------
    InputError
        The strategy does not fit, or the policy needs a mesh.
    """
    topology, strategy, workload = request.topology, request.strategy, request.workload
    fluid = _ideal(request)
    if request.placement not in ("auto", "anneal"):
        return place(topology, strategy, request.placement)
    if not topology.neighbours_matter:
        return place(topology, strategy)
    names: Sequence[str] = fitting(topology, auto=True)
    if topology.wafer is None:
        choices = [place(topology, strategy, name) for name in names]
    else:
        names = names if topology.wafer.neighbours_matter else names[:1]
        divided = wafer_divisions(topology, strategy)
        choices = [place(topology, strategy, name, one) for one in divided for name in names]
    if len(choices) == 1 and request.placement == "auto":
        return choices[0]
    made = [fluid.operations(one) for one in choices]
    how = {"recomputed": _recomputed(request, choices[0])}
    times_s = [communication_s(one, workload, **how) for one in track(made, "placements")]
    alike = [one for one, s in zip(made, times_s, strict=True) if s <= min(times_s) * (1 + ALIKE)]
    best = min(alike, key=lambda one: busiest_link_s(one, workload, **how)).placement
    if request.placement == "auto":
        return best
    found = anneal(request, best)
    return best if judge and judge(best) <= judge(found) else found


def _ideal(request: Request) -> Request:
    """Return the request used to search placements, independent of network and endpoint models."""
    return replace(request, network_model=FLUID, endpoint=IDEAL)


def _recomputed(request: Request, placed: Placement) -> bool:
    """Return whether activations are recomputed, which is independent of the placement."""
    plan = Plan(request.topology, request.workload, placed, request.compute_npu)
    return plan.memory.recomputed


def anneal(request: Request, start: Placement, steps: int = 400, seed: int = 0) -> Placement:
    """Return the best placement found by simulated annealing, never worse than ``start``.

    A step swaps two NPUs, used or free (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983); the
    temperature falls geometrically from 10 % to 0.1 % of the time at the start.

    Parameters
    ----------
    request : Request
        Iteration to place, usually on a mesh.
    start : Placement
        Initial placement.
    steps : int
        Placements to try, 1 or more.
    seed : int
        Seed of the random numbers.
    """
    fluid, recomputed = _ideal(request), _recomputed(request, start)

    def time_s(placed: Placement) -> float:
        operations = fluid.operations(placed)
        return communication_s(operations, request.workload, recomputed=recomputed)

    rng = random.Random(seed)
    free = [npu for npu in range(request.topology.npus) if npu not in start.npus]
    order = [*start.npus, *free]
    workers = len(start.npus)
    here_s = best_s = time_s(start)
    best, begin_s = start, here_s
    for step in track(range(steps), "placements"):
        heat_s = 0.1 * begin_s * 0.01 ** (step / steps)
        i, j = rng.randrange(workers), rng.randrange(len(order))
        if i == j:
            continue
        order[i], order[j] = order[j], order[i]
        found = replace(start, npus=tuple(order[:workers]), policy="anneal")
        there_s = time_s(found)
        if there_s <= here_s or rng.random() < math.exp((here_s - there_s) / heat_s):
            here_s = there_s
            if there_s < best_s:
                best, best_s = found, there_s
        else:
            order[i], order[j] = order[j], order[i]
    return best
