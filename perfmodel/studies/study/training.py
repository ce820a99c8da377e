"""Points that are training iterations: their inputs and figures."""

from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError
from perfmodel.figures import figures_of
from perfmodel.memory.file import MemoryFile
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.files import NpuEntry, build_topology
from perfmodel.topology.graph import Topology
from perfmodel.training.compute import Npu, npu_of
from perfmodel.training.estimate import Estimate, memory_of, simulate, summarize
from perfmodel.training.request import Request
from perfmodel.workloads.workload import Workload, build_workload

from .file import FIGURES, ROOTS
from .inputs import PARTS, SIZES, Inputs, Part, Resolver, column_of, identity_of
from .kind import KINDS, Kind, Row
from .version import model_version

__all__ = ["TRAINING", "rates_of", "topology_of", "workload_of"]

_SAID_OF_INPUTS = ("topology", "workload", "strategy", "options", "npus", "provenance")
"""Fields of an estimate to omit, as they repeat inputs or list the NPU of each worker."""


def _value_of(inputs: Inputs, name: str) -> Any:
    if name == "npus":
        return topology_of(inputs.topology).npus
    if name == "fits_memory":
        try:
            return memory_of(request_of(inputs)).fits
        except (InputError, ValueError):  # it cannot run at all
            return False
    return None


def _derived(inputs: Inputs) -> dict[str, Any]:
    """Return all inputs, and the NPU rates that result from them."""
    return {**inputs.fields(), **_npu_rates(inputs.topology, inputs.npu)}


def _evaluate(inputs: Inputs, _seed: int) -> Row:
    found = summarize(simulate(request_of(inputs), fitting=False))
    row = {"npus": topology_of(inputs.topology).npus, **_figures(found)}
    return row | {"records": "; ".join(found.provenance.said_records)}


def _depends(name: str) -> set[str]:
    root = name.partition(".")[0]
    if column_of(name) in (*SIZES, "workers", "strategy"):
        return {"strategy", "workload"}
    if name == "npus":
        return {"topology"}
    if root == "npu":
        return {"npu", "topology"}
    return {root} if root in ROOTS else {*ROOTS}


def request_of(inputs: Inputs) -> Request:
    """Return the request that inputs describe.

    Raises
    ------
    InputError
        Values do not go together.
    """
    memory = inputs.memory and MemoryFile.model_validate(dict(inputs.memory.data))
    if memory:
        memory.check(inputs.memory.name if inputs.memory else "")
    return Request.of(
        topology_of(inputs.topology),
        workload_of(inputs.workload),
        inputs.strategy,
        npu=rates_of(inputs.topology, inputs.npu),
        memory=memory,
        **inputs.options,
    )


def _figures(found: Estimate) -> Row:
    bare = replace(found, provenance=Provenance())
    figures = {key: one for key, one in asdict(bare).items() if key not in _SAID_OF_INPUTS}
    # What was asked for has the name of the option, what was chosen another one.
    figures["placed"] = figures.pop("placement")
    memory = found.memory
    figures["memory"] |= {"total_bytes": memory.total_bytes, "least_bytes": memory.least_bytes}
    return dict(figures_of("", figures))


@lru_cache(maxsize=16)  # with all that is known of its routes and collectives
def topology_of(part: Part) -> Topology:
    """Return the topology of a point."""
    return build_topology(part.data, part.name, Path(part.folder))


@lru_cache(maxsize=256)
def workload_of(part: Part) -> Workload:
    """Return the workload of a point."""
    return build_workload(part.data, part.name)


@lru_cache(maxsize=1024)
def rates_of(topology: Part, npu: Part) -> Npu:
    """Return the NPU rates of a point."""
    rates = NpuEntry.model_validate(dict(npu.data)).rates
    return npu_of(topology_of(topology).with_npu(rates).npu_rates)


@lru_cache(maxsize=1024)
def _npu_rates(topology: Part, npu: Part) -> dict[str, float]:
    return {f"npu.{name}": rate for name, rate in rates_of(topology, npu).rates.items()}


TRAINING = KINDS["topology"] = Kind(
    required=("topology", "workload"),
    parts=PARTS,
    figures=FIGURES,
    names=("npus", "fits_memory", *(f"strategy.{size}" for size in SIZES)),
    depends=_depends,
    resolver=Resolver,
    derived=_derived,
    value_of=_value_of,
    evaluate=_evaluate,
    identity=identity_of,
    version=model_version,
)
