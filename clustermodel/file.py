"""Cluster files: NPUs, memories, networks, training, and parameters to vary."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import CLUSTER
from fred_hw.files import EachOnce, FileModel, Share, int_range, load_model, number_range, one_of

from .footprint import RECOMPUTE, Recompute, Training
from .hardware import Cluster, Npu
from .network import Level
from .tiers import ACCESS, MemoryTier

__all__ = ["MAX_NPUS", "ClusterFile", "load_cluster", "resources"]

MAX_NPUS = 1 << 20
"""Largest number of NPUs of a cluster; the work grows with the number of factorizations."""

MAX_VARIANTS = 1000
"""Largest number of combinations of varied parameters."""

_GRADIENTS = {"fp16": 2, "fp32": 4}

_Rate = Annotated[float, number_range(1e6, 1e18)]
_Bytes = Annotated[float, number_range(1e3, 1e18)]
_Factor = Annotated[float, number_range(1e-6, 1e6)]


class ClusterNpu(FileModel):
    """An NPU of a cluster.

    Parameters
    ----------
    peak_flops : float
        Operations per second at full rate [FLOP/s].
    matmul_efficiency : float
        Share of that rate that matrix products reach.
    memory_efficiency : float
        Share of the memory bandwidth that is reached.
    buffer_bytes : float
        On-chip memory used by matrix products [B].
    """

    peak_flops: Annotated[float, number_range(1e9, 1e21)]
    matmul_efficiency: Share = 0.75
    memory_efficiency: Share = 0.85
    buffer_bytes: Annotated[float, number_range(1, 1e15)] = 40e6


class ClusterMemory(FileModel):
    """A memory of each NPU.

    Parameters
    ----------
    capacity_bytes : float
        Capacity of the memory [B].
    bytes_per_s : float
        Bandwidth of the memory [B/s].
    """

    capacity_bytes: _Bytes
    bytes_per_s: _Rate


class ClusterLevel(FileModel):
    """A level of the network.

    Parameters
    ----------
    fan_in : int
        NPUs, or blocks of the previous level, that the level joins.
    bytes_per_s : float
        Bandwidth of an NPU on this level, in each direction [B/s].
    efficiency : float
        Share of the bandwidth that collectives reach.
    latency_s : float
        Latency of a message [s].
    """

    fan_in: Annotated[int, int_range(1, MAX_NPUS)]
    bytes_per_s: _Rate
    efficiency: Share = 1.0
    latency_s: Annotated[float, number_range(0, 1)] = 0.0


class ClusterTraining(FileModel):
    """Training settings of a cluster.

    Parameters
    ----------
    batch : int
        Samples in an iteration.
    microbatch : int
        Samples that go through a replica at once; without this key all samples of a replica.
    zero : int
        State that data-parallel NPUs divide: nothing (0), the optimizer state (1), gradients too
        (2), weights too (3).
    recompute : str
        State that the backward pass computes again: nothing, attention scores (`selective`), or
        whole layers.
    sequence_parallel : bool
        Whether MP also divides the operators between the matrix products.
    gradients : str
        Number format of the gradients.
    pipeline : list of int
        Numbers of pipeline stages to try; 1 by default.
    ep : list of int
        Sizes of expert groups to try, for a model with experts; each must divide the number of
        experts. 1 by default.
    interleave : int
        Pieces of the network on each NPU of a pipeline.
    overlap : bool
        Whether gradients are reduced during the last backward pass.
    """

    batch: Annotated[int, int_range(1, 1 << 30)]
    microbatch: Annotated[int, int_range(1, 1 << 30)] | None = None
    zero: Annotated[int, int_range(0, 3)] = 2
    recompute: Annotated[str, one_of(*RECOMPUTE)] = "none"
    sequence_parallel: bool = False
    gradients: Annotated[str, one_of(*_GRADIENTS)] = "fp16"
    pipeline: Annotated[
        Annotated[list[Annotated[int, int_range(1, 10_000)]], EachOnce()] | None,
        Field(examples=[[1, 2, 4]]),
    ] = None
    ep: Annotated[
        Annotated[list[Annotated[int, int_range(1, 1 << 16)]], EachOnce()] | None,
        Field(examples=[[1, 8]]),
    ] = None
    interleave: Annotated[int, int_range(1, 1000)] = 1
    overlap: bool = True

    @property
    def stages(self) -> list[int]:
        """Numbers of pipeline stages to try."""
        return self.pipeline or [1]

    @property
    def groups(self) -> list[int]:
        """Sizes of expert groups to try."""
        return self.ep or [1]

    @property
    def plan(self) -> Training:
        """The training settings in the form that :mod:`clustermodel.sweep` takes."""
        return Training(
            batch=self.batch,
            microbatch=self.microbatch,
            zero=self.zero,
            recompute=cast(Recompute, self.recompute),
            sequence_parallel=self.sequence_parallel,
            gradient_bytes=_GRADIENTS[self.gradients],
            interleave=self.interleave,
            overlap=self.overlap,
        )


class ClusterVary(FileModel):
    """Parameters to vary: the Cartesian product of all lists is evaluated.

    Parameters
    ----------
    compute : list of float
        Factors of ``peak_flops``.
    local_bytes : list of float
        Sizes of the local memory [B].
    local_bytes_per_s : list of float
        Its bandwidths [B/s].
    expanded_bytes : list of float
        Sizes of the expanded memory [B].
    expanded_bytes_per_s : list of float
        Its bandwidths [B/s].
    network : list of float
        Factors of the bandwidth of every level.
    """

    compute: Annotated[list[_Factor], EachOnce()] | None = None
    local_bytes: Annotated[
        Annotated[list[_Bytes], EachOnce()] | None, Field(examples=[[80e9, 160e9]])
    ] = None
    local_bytes_per_s: Annotated[
        Annotated[list[_Rate], EachOnce()] | None, Field(examples=[[2e12, 4e12]])
    ] = None
    expanded_bytes: Annotated[list[_Bytes], EachOnce()] | None = None
    expanded_bytes_per_s: Annotated[list[_Rate], EachOnce()] | None = None
    network: Annotated[Annotated[list[_Factor], EachOnce()] | None, Field(examples=[[1, 2]])] = None


class ClusterFile(FileModel):
    """A cluster of identical NPUs, and its training settings.

    Parameters
    ----------
    npu : mapping
        Properties of each NPU.
    local : mapping
        Local memory of an NPU.
    expanded : mapping
        Additional memory of an NPU, such as memory behind CXL; none by default.
    access : str
        Whether both are read one after the other (`serial`) or at once (`striped`).
    networks : list of mapping
        Levels of the network, the innermost first.
    training : mapping
        Batch, ZeRO stage and so on.
    vary : mapping
        Parameters to vary in addition to the strategy; none by default.
    """

    file_kind = CLUSTER

    npu: ClusterNpu
    local: ClusterMemory
    expanded: ClusterMemory | None = None
    access: Annotated[str, one_of(*ACCESS)] = "serial"
    networks: Annotated[list[ClusterLevel], Field(min_length=1, max_length=8)]
    training: ClusterTraining
    vary: ClusterVary | None = None

    @property
    def cluster(self) -> Cluster:
        """The hardware of the file without variations."""
        levels = tuple(
            Level(one.fan_in, one.bytes_per_s * one.efficiency, one.latency_s)
            for one in self.networks
        )
        npu = Npu(**self.npu.model_dump())
        return Cluster(
            npu, _tier(self.local), self.expanded and _tier(self.expanded), self.access, levels
        )

    def check(self, source: str) -> None:
        """Fail unless the keys are consistent.

        Raises
        ------
        InputError
            There are too many NPUs or combinations, or half of an expanded memory.
        """
        npus = prod(one.fan_in for one in self.networks)
        if not 2 <= npus <= MAX_NPUS:
            message = f"must have 2 to {MAX_NPUS} NPUs in all, not {npus}"
            raise InputError(source, "networks", message)
        vary = self.vary
        if vary is None:
            return
        for key, other in (("bytes", "bytes_per_s"), ("bytes_per_s", "bytes")):
            given, needed = getattr(vary, f"expanded_{key}"), getattr(vary, f"expanded_{other}")
            if given and not needed and self.expanded is None:
                message = f"must be given with expanded_{key} and no expanded memory"
                raise InputError(source, f"vary.expanded_{other}", message)
        lists = [found for one in type(vary).model_fields if (found := getattr(vary, one))]
        if (count := prod(len(one) for one in lists)) > MAX_VARIANTS:
            message = f"must have at most {MAX_VARIANTS} combinations, not {count}"
            raise InputError(source, "vary", message)


def _tier(memory: ClusterMemory) -> MemoryTier:
    return MemoryTier(memory.capacity_bytes, memory.bytes_per_s)


def resources(file: ClusterFile) -> Iterator[tuple[dict[str, float], Cluster]]:
    """Yield every combination of varied parameters: the values and the resulting cluster."""
    base, vary = file.cluster, file.vary
    if vary is None:
        return
    lists = {one: found for one in type(vary).model_fields if (found := getattr(vary, one))}
    for values in product(*lists.values()):
        given = dict(zip(lists, values, strict=True))
        yield given, _changed(base, given)


def _changed(base: Cluster, given: dict[str, float]) -> Cluster:
    """Return a cluster with changed resources."""

    def tier(name: str, had: MemoryTier) -> MemoryTier:
        return MemoryTier(
            given.get(f"{name}_bytes", had.bytes), given.get(f"{name}_bytes_per_s", had.bytes_per_s)
        )

    local, expanded = tier("local", base.local), base.expanded
    if expanded or "expanded_bytes" in given:
        expanded = tier("expanded", expanded or MemoryTier(0.0, 0.0))
    npu = replace(base.npu, peak_flops=base.npu.peak_flops * given.get("compute", 1.0))
    faster = given.get("network", 1.0)
    levels = tuple(replace(one, bytes_per_s=one.bytes_per_s * faster) for one in base.levels)
    return replace(base, npu=npu, local=local, expanded=expanded, levels=levels)


def load_cluster(path: Path) -> ClusterFile:
    """Return the contents of a cluster file.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    return load_model(ClusterFile, path)
