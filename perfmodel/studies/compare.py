"""All workloads on all fabrics, and speed-ups over the first fabric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fred_hw.progress import track
from perfmodel.collectives.select import PUBLISHED
from perfmodel.memory.file import load_tier
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.parse import FABRICS, shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import compute_model
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.workloads.workload import WORKLOADS, load_workload

__all__ = ["Row", "compare"]


@dataclass(frozen=True, slots=True)
class Row:
    """One workload on one fabric.

    Parameters
    ----------
    estimate : Estimate
        The iteration.
    speedup : float
        Iteration time on the first of the fabrics divided by that on this one.
    """

    estimate: Estimate
    speedup: float


def compare(
    topologies: Sequence[str] = FABRICS,
    workloads: Sequence[str] = (),
    npu: Npu | None = None,
    compute: str = "first-principles",
    protocol: ProtocolModel | None = None,
    algorithm: str = PUBLISHED,
    npu_rates: Mapping[str, Any] = MappingProxyType({}),
    memory: Path | None = None,
) -> tuple[Row, ...]:
    """Estimate every workload on every fabric, each with the strategy of the workload.

    Parameters
    ----------
    topologies : sequence of str
        Names or files; the first is what the others are compared with, usually the mesh.
    workloads : sequence of str
        Names or files; without any, all of ``WORKLOADS`` that the model of compute knows.
    npu : Npu or None
        The roofline; if None that of each fabric: an H100, but for its file and ``npu_rates``.
    compute : str
        As for ``compute_model.compute_model``.
    protocol : str or None
        Of the fabrics, as for ``topology.parse.parse_topology``.
    algorithm : str
        Of collectives, as for ``training.operations.Operations``.
    npu_rates : mapping
        Rates of the NPUs of all fabrics, as ``Topology.with_npu`` takes them.
    memory : Path or None
        File of the remote memory that all fabrics have in place of their I/O controllers.

    Raises
    ------
    InputError
        A name or a file is bad, a strategy does not fit a fabric, or compute is calibrated and the
        fabrics differ in their protocols.
    """
    fabrics = [shared_topology(name, protocol).with_npu(npu_rates) for name in topologies]
    model = compute_model(compute)
    model.check(fabrics)
    tier = load_tier(memory, max(one.npus for one in fabrics)) if memory else None
    rows: list[Row] = []
    names = tuple(workloads or model.workloads(WORKLOADS))
    for workload in map(load_workload, track(names, "workloads")):
        results = [
            estimate(fabric, workload, npu=npu, compute=compute, algorithm=algorithm, memory=tier)
            for fabric in fabrics
        ]
        first = results[0].iteration_time_s
        rows += [Row(result, first / result.iteration_time_s) for result in results]
    return tuple(rows)
