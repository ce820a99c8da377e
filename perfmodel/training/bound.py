"""Lower bounds of the figures of many iterations of a workload at once.

An iteration takes at least as long as every chain of its tasks, with each collective as fast as
the links of its NPUs allow whatever the algorithm. Arrays have an entry for each iteration, so
nothing here is done iteration by iteration.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fred_hw.compiler.placement import Strategy
from perfmodel.collectives.bounds import shares
from perfmodel.constants import NUMBER_BYTES
from perfmodel.topology.graph import Topology
from perfmodel.workloads.layers import KINDS, Layer, Operator
from perfmodel.workloads.pipeline_schedule import microbatches_held
from perfmodel.workloads.workload import Workload

from .compute import Npu
from .graph import PREFETCH
from .memory import OPTIMIZER_BYTES
from .request import Request

__all__ = ["Fabric", "Rates", "Sizes", "bounds_of", "time_bounds_s"]

Array = NDArray[np.float64]

_ROUNDING = 1e-9
"""Share by which rounding may raise a bound above a simulated time."""


class Sizes(NamedTuple):
    """Sizes of one strategy, or of many as arrays."""

    mp: Any
    dp: Any
    pp: Any
    cp: Any
    ep: Any
    sp: Any

    @classmethod
    def of(cls, strategy: Strategy) -> "Sizes":
        """Return the sizes of one strategy."""
        return cls(*(float(getattr(strategy, name)) for name in cls._fields))


class Rates(NamedTuple):
    """Rates of NPUs, as arrays.

    Parameters
    ----------
    kinds : array
        Operations per second of each kind of operator, in the order of ``KINDS``.
    activations, weights : array
        Numbers per second from and to memory.
    hbm_bytes : array
        Memory [B].
    """

    kinds: Array
    activations: Array
    weights: Array
    hbm_bytes: Array

    @staticmethod
    def row(npu: Npu) -> list[float]:
        """Return the rates of one NPU, determined from operators with one unit of work."""
        ones = [Operator("", kind, 1.0, 0, 0.0) for kind in KINDS]
        ones += [Operator("", KINDS[0], 0.0, 0, 1.0), Operator("", KINDS[0], 0.0, 1, 0.0)]
        times = [npu.pass_s(one, 1.0, 1) for one in ones]
        return [*(1 / time if time else np.inf for time in times), npu.hbm_bytes]

    @classmethod
    def of(cls, rows: Array) -> "Rates":
        """Return the rates from rows in the form of :meth:`row`."""
        kinds = len(KINDS)
        return cls(rows[:, :kinds].T, *rows[:, kinds:].T)


class Fabric(NamedTuple):
    """Payload bandwidths of one topology, or of many as arrays [B/s].

    Parameters
    ----------
    sent, received : float or array
        Of an NPU, at most.
    loaded, stored : float or array
        From and to all I/O controllers together; infinite with remote memory.
    """

    sent: Any
    received: Any
    loaded: Any
    stored: Any

    @classmethod
    def of(cls, topology: Topology, *, remote_memory: bool) -> "Fabric":
        """Return the bandwidths of one topology."""
        loaded = stored = 0.0
        for link in topology.links:
            loaded += link.payload_bytes_per_s * (topology.nodes[link.source].kind == "io")
            stored += link.payload_bytes_per_s * (topology.nodes[link.target].kind == "io")
        if remote_memory:
            loaded = stored = 0.0
        sent, received = max(topology.sent_bytes_per_s), max(topology.received_bytes_per_s)
        return cls(*(rate or np.inf for rate in (sent, received, loaded, stored)))


@dataclass
class _Sums:
    """Sums over all layers for one microbatch, for each iteration.

    Parameters
    ----------
    compute : array
        Compute time of the forward and the backward pass [s].
    forward, backward : array
        Time of each pass with its collectives [s].
    share : array
        Time of the forward pass over that of both passes, of the layer with the least quotient.
    longest : array
        Time of the longest backward pass of a layer [s].
    own, shared : array
        Parameters that an NPU has after division by EP and before division by MP: those of all
        replicas, and those of experts.
    largest : array
        The same of the layer with the most parameters.
    outputs : array
        Output numbers of the layer with the fewest, for one sample.
    inputs, stored, peak : array
        Activations kept for the backward pass of one sample: inputs of layers alone, all
        activations, and all activations of the layer with the most.
    """

    compute: Any = 0.0
    forward: Any = 0.0
    backward: Any = 0.0
    share: Any = 1.0
    longest: Any = 0.0
    own: Any = 0.0
    shared: Any = 0.0
    largest: Any = 0.0
    outputs: Any = np.inf
    inputs: Any = 0.0
    stored: Any = 0.0
    peak: Any = 0.0


def bounds_of(
    workload: Workload,
    sizes: Sizes,
    npu: Rates,
    fabric: Fabric,
    scale: Array,
    recomputed: NDArray[np.bool_] | None = None,
) -> dict[str, Array]:
    """Return lower bounds of iterations of one workload, keyed by figure of an estimate.

    Parameters
    ----------
    workload : Workload
        What is trained; its own strategy is not looked at.
    sizes, npu, fabric : Sizes, Rates, Fabric
        How, and on what.
    scale : array
        Factor of all compute times.
    recomputed : array of bool or None
        Whether activations are recomputed. With None it is assumed only where it is certain.
    """
    many = _Many(workload, sizes, npu, fabric, scale, recomputed)
    time_s = many.time_s()
    compute_s = workload.microbatches * many.sums.compute / sizes.pp
    found = {
        "iteration_time_s": time_s,
        "time_per_sample_s": time_s / (workload.samples_per_replica * sizes.dp),
        "busy_s": compute_s,
        "compute_s": np.where(sizes.pp == 1, compute_s, 0.0),
        "memory.total_bytes": many.total_bytes,
        "memory.least_bytes": many.least_bytes,
    }
    return {name: (1 - _ROUNDING) * one for name, one in found.items()}


def time_bounds_s(requests: Sequence[Request], recomputed: Sequence[bool]) -> list[float]:
    """Return a lower bound of the time per sample of each of several iterations [s].

    Parameters
    ----------
    requests : sequence of Request
        Iterations on one topology, which differ in workload and strategy.
    recomputed : sequence of bool
        Whether each recomputes activations.
    """
    found = [0.0] * len(requests)
    alike: dict[Workload, list[int]] = {}
    for place, request in enumerate(requests):
        alike.setdefault(request.workload, []).append(place)
    for workload, places in alike.items():
        some = [requests[place] for place in places]
        ones = np.ones(len(places))
        given = some[0]
        fabric = Fabric.of(given.topology, remote_memory=given.memory is not None)
        bounds = bounds_of(
            workload,
            Sizes(*np.array([Sizes.of(one.strategy) for one in some]).T),
            Rates.of(np.array([Rates.row(given.compute_npu)] * len(places))),
            Fabric(*(rate * ones for rate in fabric)),
            given.compute_scale * ones,
            np.array([recomputed[place] for place in places]),
        )
        for place, bound_s in zip(places, bounds["time_per_sample_s"], strict=True):
            found[place] = float(bound_s)
    return found


def _ends_s(pattern: str, members: Any, size_bytes: Any, sent: Any, received: Any) -> Any:
    """Return the least time of many collectives at once, without latency [s].

    Parameters
    ----------
    pattern : str
        One of ``schedule.PATTERNS``.
    members : array
        NPUs in the group of each collective; a group of one NPU moves nothing.
    size_bytes : array
        Size of the whole vector of each collective [B].
    sent, received : array
        Highest bandwidth with which an NPU sends and receives [B/s].
    """
    times = [
        np.maximum(leaves / sent, comes / received)
        for leaves, comes in shares(pattern, 1 / members)
    ]
    return np.where(members > 1, np.maximum(*times) * size_bytes, 0.0)


def _filled(part: Any, stages: Array) -> Array:
    """Return ``1 - (1 - part) ** stages``."""
    with np.errstate(divide="ignore"):  # all of it with the first stage
        return -np.expm1(stages * np.log1p(-part))


class _Many:
    """Bounds of many iterations of one workload; parameters as for :func:`bounds_of`."""

    def __init__(
        self,
        workload: Workload,
        sizes: Sizes,
        npu: Rates,
        fabric: Fabric,
        scale: Array,
        recomputed: NDArray[np.bool_] | None,
    ) -> None:
        self._workload, self._sizes, self._npu = workload, sizes, npu
        self._fabric, self._scale = fabric, scale
        self._samples = workload.samples_per_replica / workload.microbatches
        layers = workload.network.layers
        self._last = self._add(_Sums(), layers[-1], 1)
        self._first = self._add(_Sums(), layers[0], 1)
        self.sums = _Sums()
        for layer, count in Counter(layers).items():
            self._add(self.sums, layer, count)
        self.sums.inputs += np.ceil(layers[0].output_numbers / sizes.cp)
        self.sums.inputs -= np.ceil(layers[-1].output_numbers / sizes.cp)
        self.total_bytes, self.least_bytes = self._memory()
        again = recomputed
        if again is None:  # certain only with one stage, whose memory is exact
            again = (sizes.pp == 1) & (self.total_bytes > npu.hbm_bytes * (1 + _ROUNDING))
        for one in (self.sums, self._first, self._last):
            one.backward = one.backward + np.where(again, one.forward, 0.0)
            one.compute = one.compute * np.where(again, 4 / 3, 1.0)
            one.share = one.share / np.where(again, 1 + one.share, 1.0)

    def _add(self, sums: _Sums, layer: Layer, count: int) -> _Sums:
        """Add a layer that occurs ``count`` times."""
        sizes = self._sizes
        compute_s = self._compute_s(layer)
        each_s, gathered_s, scattered_s = self._collectives_s(layer)
        forward = compute_s + each_s + gathered_s
        backward = 2 * compute_s + each_s + gathered_s + scattered_s
        sums.compute = sums.compute + count * 3 * compute_s
        sums.forward = sums.forward + count * forward
        sums.backward = sums.backward + count * backward
        with np.errstate(invalid="ignore"):
            share = forward / (forward + backward)
        sums.share = np.fmin(sums.share, share)  # of layers that take no time there is none
        sums.longest = np.maximum(sums.longest, backward)
        own = layer.parameters - layer.shared_parameters
        shared = sum(np.ceil(one.parameters / sizes.ep) for one in layer.operators if one.shared)
        sums.own = sums.own + count * own
        sums.shared = sums.shared + count * shared
        sums.largest = np.maximum(sums.largest, own + shared)
        outputs = np.ceil(layer.output_numbers / sizes.cp)
        stored = layer.stored_numbers / sizes.cp
        sums.outputs = np.minimum(sums.outputs, outputs)
        sums.inputs = sums.inputs + count * outputs
        sums.stored = sums.stored + count * stored
        sums.peak = np.maximum(sums.peak, stored)
        return sums

    def _compute_s(self, layer: Layer) -> Array:
        """Return the compute of the forward pass of a layer [s]."""
        sizes, npu = self._sizes, self._npu
        samples = self._samples / sizes.cp
        total = np.zeros_like(sizes.mp)
        for one in layer.operators:
            weights = one.read_parameters
            shared = np.ceil(weights / sizes.ep) if one.shared else weights
            moved = one.moved_numbers * samples / npu.activations + shared / npu.weights
            total += np.maximum(one.flops * samples / npu.kinds[KINDS.index(one.kind)], moved)
        return self._scale * total / (sizes.mp if layer.splits else 1.0)

    def _collectives_s(self, layer: Layer) -> tuple[Array, Array, Array]:
        """Return the collectives of both passes, and those along CP before and after a pass [s]."""
        sizes, samples = self._sizes, self._samples
        numbers = np.ceil(layer.mp_reduced_numbers / sizes.cp) * samples
        split = self._ends_s("reduce_scatter", sizes.mp, numbers) + self._ends_s(
            "all_gather", sizes.mp, numbers
        )
        whole = self._ends_s("all_reduce", sizes.mp, numbers)
        each = layer.mp_reductions * np.where(sizes.sp > 0, split, whole)
        tokens = np.ceil(layer.all_to_all_numbers / sizes.cp) * samples / sizes.mp
        each = each + layer.all_to_alls * self._ends_s("all_to_all", sizes.ep, tokens)
        keys = layer.cp_numbers * samples / sizes.mp
        gathered = self._ends_s("all_gather", sizes.cp, keys)
        return each, gathered, self._ends_s("reduce_scatter", sizes.cp, keys)

    def _ends_s(self, pattern: str, members: Array, numbers: Any) -> Array:
        fabric = self._fabric
        return _ends_s(pattern, members, NUMBER_BYTES * numbers, fabric.sent, fabric.received)

    def time_s(self) -> Array:
        """Return lower bounds of the iterations' times [s]."""
        sizes = self._sizes
        given = self._workload.network.input_bytes * self._workload.samples_per_replica * sizes.dp
        streaming = self._workload.mode == "streaming"
        found = self._streaming_s() if streaming else self._stationary_s()
        return np.maximum(found, given / self._fabric.loaded)

    def _stationary_s(self) -> Array:
        """Return lower bounds of iterations with all weights on the wafer [s].

        A stage waits for the first forward pass of the stages before it, works on all
        microbatches, and then the last backward pass goes through the stages before it. The
        layers of each stage are not known: any division leaves a stage with at least the average
        over the stages, whatever the weights of the average.
        """
        sums, pp = self.sums, self._sizes.pp
        many = self._workload.microbatches
        both = sums.forward + sums.backward
        handed_s = (pp - 1) * self._ends_s("broadcast", np.full_like(pp, 2.0), self._border)
        best = both / _filled(1 / many, pp) + handed_s
        experts = self._ends_s("all_reduce", self._replicas / self._sizes.ep, self._shared)
        others = self._ends_s("all_reduce", self._replicas, self._own)
        if self._workload.overlap:
            after = ((many - 1) * both + sums.forward + others + experts) / pp
            return np.maximum(best, after)
        gradients = np.maximum(others, experts)
        part = sums.share / many
        least = (1 - part) ** (pp - 1) / many
        after = sums.share / _filled(part, pp) * (both + least * gradients) + handed_s / 2
        return np.maximum(np.maximum(best, after), (many * both + gradients) / pp)

    def _streaming_s(self) -> Array:
        """Return lower bounds of iterations with weights streamed from storage [s].

        Layers are loaded one after the other for each pass, and gradients leave likewise.
        """
        sums, first, last = self.sums, self._first, self._last
        many, sizes, fabric = self._workload.microbatches, self._sizes, self._fabric
        numbers = NUMBER_BYTES * (sums.own + sizes.ep * sums.shared)
        loads_s = 2 * numbers / fabric.loaded + many * first.backward
        stores_s = (
            sums.forward
            + (many - 1) * last.forward
            + many * last.backward
            + numbers / fabric.stored
        )
        both = sums.forward + sums.backward
        computed_s = np.maximum(many * both / sizes.pp, both + (many - 1) * sums.longest)
        return np.maximum(np.maximum(loads_s, stores_s), computed_s)

    @property
    def _border(self) -> Array:
        return self.sums.outputs * self._samples

    @property
    def _replicas(self) -> Array:
        return self._sizes.dp * self._sizes.cp

    @property
    def _own(self) -> Array:
        """Parameters whose gradients all replicas reduce."""
        shared = np.where(self._sizes.ep == 1, self.sums.shared, 0.0)
        return (self.sums.own + shared) / self._sizes.mp

    @property
    def _shared(self) -> Array:
        """Parameters whose gradients the replicas of an expert reduce."""
        return np.where(self._sizes.ep == 1, 0.0, self.sums.shared) / self._sizes.mp

    def _memory(self) -> tuple[Array, Array]:
        """Return lower bounds of ``total_bytes`` and of ``least_bytes`` [B].

        With one stage both are exact. With more, some stage has at least the average state, and
        what activations need with recomputation is at most twice what they need without.
        """
        sums, sizes, workload = self.sums, self._sizes, self._workload
        alone, many = sizes.pp == 1, workload.microbatches
        state: Array
        if workload.mode == "streaming":
            state, held = 2 * NUMBER_BYTES * PREFETCH * sums.largest / sizes.mp, many
        else:
            held = microbatches_held(workload.schedule, 1, many)
            spread = (sums.own + sizes.ep * sums.shared) / self._replicas
            state = NUMBER_BYTES * (sums.own + sums.shared)
            state = (state + (NUMBER_BYTES + OPTIMIZER_BYTES) * spread) / sizes.mp / sizes.pp
        each = NUMBER_BYTES * self._samples / sizes.mp
        least: Array = each * (held * np.minimum(sums.inputs, sums.stored) + sums.peak)
        total: Array = state + np.where(alone, each * held * sums.stored, -state / 2)
        return total, state + alone * least
