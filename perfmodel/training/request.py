"""Requests: one training iteration to estimate, with everything that its time depends on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Self

from fred_hw.compiler.placement import Strategy
from perfmodel.endpoint.model import KINDS, EndpointModel, Reservation, endpoint_model
from perfmodel.memory.file import MemoryFile, check_tier, load_tier
from perfmodel.network.run import Endpoint
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import shared_topology
from perfmodel.workloads.workload import Workload, changed_workload, parse_strategy

from .compute import Npu, npu_of
from .compute_model import ComputeModel, compute_model
from .operations import Operations
from .options import Options
from .placement.place import Placement

__all__ = ["Request", "read_requests"]


@dataclass(frozen=True, kw_only=True)
class Request(Options):
    """One training iteration, as requested by the command line, Python, studies or the report.

    :meth:`of` fills in what is left out. The options by name are those of :class:`Options`.

    Parameters
    ----------
    topology : Topology
        Topology of the training.
    workload : Workload
        Workload to train.
    strategy : Strategy
        Parallel strategy.
    npu : Npu
        The roofline of each NPU.
    memory : MemoryFile or None
        Remote memory of weights, gradients and input; None for storage behind the I/O controllers
        of the topology.

    Raises
    ------
    InputError
        An option has a value that is not allowed, or the memory does not suit these NPUs.
    """

    topology: Topology
    workload: Workload
    strategy: Strategy
    npu: Npu
    memory: MemoryFile | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory:
            check_tier(self.memory, self.topology.npus, "memory")

    @classmethod
    def of(
        cls,
        topology: Topology,
        workload: Workload,
        strategy: Strategy | str | None = None,
        *,
        npu: Npu | None = None,
        memory: MemoryFile | None = None,
        **options: str,
    ) -> Self:
        """Return a request with the workload's strategy and the topology's NPU by default.

        Parameters
        ----------
        topology, workload, npu, memory : Topology, Workload, Npu or None, MemoryFile or None
            See the class.
        strategy : Strategy or str or None
            Strategy, also as text such as ``MP2-DP5-PP2`` (MP is the paper's name for tensor
            parallelism).
        **options : str
            The fields of :class:`Options`.

        Raises
        ------
        InputError
            The strategy is malformed, or a value is not allowed.
        """
        if isinstance(strategy, str):
            strategy = parse_strategy(strategy)
        return cls(
            topology=topology,
            workload=workload,
            strategy=strategy or workload.strategy,
            npu=npu or npu_of(topology.npu_rates),
            memory=memory,
            **options,
        )

    @property
    def compute_model(self) -> ComputeModel:
        """The compute model."""
        return compute_model(self.compute)

    @cached_property
    def compute_scale(self) -> float:
        """Factor by which the compute model multiplies the compute times of its NPU."""
        return self.compute_model.scale(self.workload.name, self.topology, self.npu)

    @cached_property
    def compute_npu(self) -> Npu:
        """The NPU as seen by the compute model."""
        return self.compute_model.npu(self.npu)

    @cached_property
    def endpoint_model(self) -> EndpointModel | None:
        """The endpoint model; None if endpoints cost nothing."""
        return endpoint_model(self.endpoint)

    def operations(self, placement: Placement, taken: Reservation | None = None) -> Operations:
        """Return the communication of the iteration with a placement.

        ``taken`` is what it takes of the NPUs, one of the reservations of the endpoint model; with
        None endpoints cost nothing.
        """
        how = (self.topology, placement, self.algorithm, self.memory)
        endpoint, model = None, self.endpoint_model
        if taken and model:
            rate = taken.read_share * self.npu.hbm_bytes_per_s
            endpoint = Endpoint(KINDS[model.kind], rate)
        return Operations(*how, network_model=self.network_model, endpoint=endpoint)


def read_requests(
    topologies: Sequence[str],
    workloads: Sequence[str],
    strategy: str | None = None,
    *,
    protocol: ProtocolModel | None = None,
    npu: Mapping[str, Any] | None = None,
    memory: Path | None = None,
    changes: Mapping[str, Any] | None = None,
    **options: str,
) -> tuple[Request, ...]:
    """Return a request for each workload on each topology, ordered by workload.

    Parameters
    ----------
    topologies, workloads : sequence of str
        Names or files.
    strategy : str or None
        Strategy of all requests; that of each workload if None.
    protocol : str or None
        Protocol of all topologies, as for ``topology.parse.parse_topology``.
    npu : mapping or None
        Rates of the NPUs of all topologies that change, as ``Topology.with_npu`` takes them.
    memory : Path or None
        File of the remote memory.
    changes : mapping or None
        Changes to all workloads, as ``workload.changed_workload`` takes them.
    **options : str
        The fields of :class:`Options`.

    Raises
    ------
    InputError
        A name, a file or a value is invalid.
    """
    fabrics = [shared_topology(name, protocol) for name in topologies]
    npus = [npu_of(one.with_npu(npu or {}).npu_rates) for one in fabrics]
    tier = load_tier(memory, max(one.npus for one in fabrics)) if memory else None
    jobs = [changed_workload(name, **changes or {}) for name in workloads]
    return tuple(
        Request.of(fabric, job, strategy, npu=rates, memory=tier, **options)
        for job, (fabric, rates) in product(jobs, zip(fabrics, npus, strict=True))
    )
