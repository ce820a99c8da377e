"""Latency of an inference on a wafer: multicasts and products, layer by layer."""

from dataclasses import dataclass

import numpy as np

from perfmodel.constants import NUMBER_BYTES
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.graph import Topology
from perfmodel.training.compute import Npu, npu_of

from .crossings import Crossing, crossings
from .operations import Conv, Product
from .restructure import Restructured
from .traffic import Traffic, traffic_s

__all__ = ["Latency", "Step", "latency"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an inference: a value that crosses, or a product.

    Parameters
    ----------
    name : str
        Name of the product, or of the operation that waits for the value.
    kind : str
        ``traffic`` or ``compute``.
    time_s : float
        Duration [s].
    flows : int
        Number of multicasts.
    sent_bytes : float
        Bytes that sources send [B].
    """

    name: str
    kind: str
    time_s: float
    flows: int = 0
    sent_bytes: float = 0.0


@dataclass(frozen=True)
class Latency:
    """Latency of one inference.

    Parameters
    ----------
    topology, trees : str
        Topology, and one of ``traffic.TREES``.
    steps : tuple of Step
        Steps in order of execution.
    provenance : Provenance
        Timing records used, and what the numbers take for granted.
    """

    topology: str
    trees: str
    steps: tuple[Step, ...]
    provenance: Provenance

    @property
    def time_s(self) -> float:
        """Time from the inputs at their workers to the outputs [s]."""
        return sum(one.time_s for one in self.steps)

    @property
    def traffic_s(self) -> float:
        """Time of the traffic alone [s]."""
        return sum(one.time_s for one in self.steps if one.kind == "traffic")


_ASSUMED = (
    "worker i is NPU i, and steps of an inference follow each other without overlap",
    "weights that are 0 take no time and no memory traffic",
    "functions, pooling, normalizations and attention scores take no time",
)


def latency(made: Restructured, topology: Topology, trees: str = "topology") -> Latency:
    """Return the latency of an inference of one sample.

    Parameters
    ----------
    made : Restructured
        The placed network.
    topology : Topology
        Topology with at least as many NPUs as workers.
    trees : str
        One of ``traffic.TREES``.

    Raises
    ------
    InputError
        The topology has too few NPUs.
    """
    npu = npu_of(topology.npu_rates)
    crossing: dict[str, list[Crossing]] = {}
    for one in crossings(made):
        crossing.setdefault(one.before, []).append(one)
    steps: list[Step] = []
    assumed: dict[str, None] = {}
    for operation in made.network.operations:
        for one in crossing.get(operation.name, ()):
            found = traffic_s(topology, one.multicasts, NUMBER_BYTES, trees)
            assumed.update(dict.fromkeys(found.assumptions))
            steps.append(_traffic(operation.name, found))
        if isinstance(operation, Product):
            steps.append(Step(operation.name, "compute", _compute_s(made, operation, npu)))
    provenance = topology.provenance.plus(*_ASSUMED, npu.assumptions[0], *assumed)
    return Latency(topology.name, trees, tuple(steps), provenance)


def _traffic(name: str, found: Traffic) -> Step:
    return Step(name, "traffic", found.time_s, found.flows, found.sent_bytes)


def _compute_s(made: Restructured, one: Product, npu: Npu) -> float:
    """Return the time of a product on the worker with the most work [s]."""
    calibrated, rows = made.calibrated, made.owners(one.name)
    positions, taken = calibrated.positions(one.name), calibrated.positions(one.inputs[0])
    kind = "convolution" if isinstance(one, Conv) else "matmul"
    longest_s = 0.0
    for worker in np.unique(rows).tolist():
        weight = one.weight[rows == worker]
        nonzeros = int(np.count_nonzero(weight))
        inputs = int((weight != 0).reshape(*weight.shape[:2], -1).any(axis=(0, 2)).sum())
        moved = nonzeros + inputs * taken + len(weight) * positions
        flops = 2.0 * nonzeros * positions
        longest_s = max(longest_s, npu.time_s(kind, flops, NUMBER_BYTES * moved))
    return longest_s
