"""All fabrics against all workloads."""

from collections.abc import Sequence
from dataclasses import dataclass

from .compute import Npu
from .estimate import Exposed, estimate
from .topology.parse import FABRICS, parse_topology
from .workload import WORKLOADS, load_workload

__all__ = ["Row", "compare"]


@dataclass(frozen=True, slots=True)
class Row:
    """One workload on one fabric.

    Parameters
    ----------
    topology, workload, strategy : str
        What was trained where, and how in parallel.
    iteration_time_s, compute_s : float
        Whole iteration, as far as it is modelled, and its compute [s].
    exposed_s : Exposed
        Communication that adds to compute [s].
    speedup : float
        Iteration time on the first of the fabrics divided by that on this one.
    not_modelled : tuple of str
        What ``iteration_time_s`` lacks.
    """

    topology: str
    workload: str
    strategy: str
    iteration_time_s: float
    compute_s: float
    exposed_s: Exposed
    speedup: float
    not_modelled: tuple[str, ...]


def compare(
    topologies: Sequence[str] = FABRICS,
    workloads: Sequence[str] = WORKLOADS,
    npu: Npu | None = None,
) -> tuple[Row, ...]:
    """Estimate every workload on every fabric, each with the strategy of the workload.

    Parameters
    ----------
    topologies : sequence of str
        Names or files; the first is what the others are compared with, usually the mesh.
    workloads : sequence of str
        Names or files.
    npu : Npu or None
        The roofline; an H100-like NPU of efficiency 1 if None.

    Raises
    ------
    InputError
        A name or a file is bad, or a strategy does not fit a fabric.
    """
    fabrics = [parse_topology(name) for name in topologies]
    rows: list[Row] = []
    for workload in map(load_workload, workloads):
        results = [estimate(fabric, workload, npu=npu) for fabric in fabrics]
        rows += [
            Row(
                topology=result.topology,
                workload=result.workload,
                strategy=result.strategy,
                iteration_time_s=result.iteration_time_s,
                compute_s=result.compute_s,
                exposed_s=result.exposed_s,
                speedup=results[0].iteration_time_s / result.iteration_time_s,
                not_modelled=result.not_modelled,
            )
            for result in results
        ]
    return tuple(rows)
