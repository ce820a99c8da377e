"""One point of a study: its inputs, and the row of figures that it comes to."""

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError, one_line
from perfmodel.figures import figures_of
from perfmodel.memory.file import MemoryFile
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.files import NpuEntry, build_topology
from perfmodel.topology.graph import Topology
from perfmodel.training.compute import Npu, npu_of
from perfmodel.training.estimate import Estimate, memory_of, simulate, summarize
from perfmodel.training.request import Request
from perfmodel.workloads.workload import Workload, build_workload

from .axes import Value
from .inputs import Inputs, Part, column_of
from .version import model_version

__all__ = [
    "FAILURES",
    "OtherVersionError",
    "Point",
    "Row",
    "evaluate",
    "evaluate_batch",
    "lost_row",
    "rates_of",
    "topology_of",
    "workload_of",
]

Row = dict[str, Any]
"""Inputs, figures and provenance of a point by the name of their column."""

FAILURES = (
    *(InputError, ArithmeticError, AssertionError, LookupError, MemoryError, OSError),
    *(RuntimeError, TypeError, ValueError),
)
"""What ends a point, and not the study."""

_SAID_OF_INPUTS = ("topology", "workload", "strategy", "options", "npus", "provenance")
"""Fields of an estimate that repeat its inputs, and the NPU of each worker."""


class OtherVersionError(Exception):
    """A worker has another version of the model; ``args`` are its version and host."""


@dataclass(frozen=True)
class Point:
    """A point of a study.

    Parameters
    ----------
    key : str
        Hash of its inputs and of the version of the model.
    values : mapping
        Fields that the study names, with their values.
    inputs : Inputs or None
        What they come to; None if they do not go together.
    problem : str
        Why they do not; empty if they do.
    seed : int
        Of the distributions of the study.
    """

    key: str
    values: Mapping[str, Value]
    inputs: Inputs | None
    problem: str
    seed: int

    def value_of(self, name: str) -> Any:
        """Return a field for a constraint, or None where the point lacks the field."""
        if (column := column_of(name)) in self.derived:
            return self.derived[column]
        assert self.inputs
        if name == "npus":
            return topology_of(self.inputs.topology).npus
        if name == "fits_memory":
            try:
                return memory_of(request_of(self.inputs)).fits
            except (InputError, ValueError):  # it cannot run at all
                return False
        return None

    @cached_property
    def derived(self) -> dict[str, Any]:
        """All inputs, and the rates of the NPUs that follow from them."""
        if self.inputs is None:
            return {column_of(name): value for name, value in self.values.items()}
        return {**self.inputs.fields(), **_npu_rates(self.inputs.topology, self.inputs.npu)}


def evaluate_batch(version: str, points: Sequence[Point]) -> list[Row]:
    """Return the rows of some points.

    Raises
    ------
    OtherVersionError
        The model here is not of ``version``.
    """
    if version != model_version():
        raise OtherVersionError(model_version(), socket.gethostname())
    return [evaluate(point) for point in points]


def evaluate(point: Point) -> Row:
    """Return the row of a point; if the point fails, ``error`` has the reason."""
    begun = time.perf_counter()
    row: Row = {"key": point.key, "error": point.problem or None, "records": None}
    try:
        row |= point.derived
        if point.inputs:
            found = summarize(simulate(request_of(point.inputs), fitting=False))
            row |= {"npus": topology_of(point.inputs.topology).npus, **_figures(found)}
            row["records"] = "; ".join(found.provenance.said_records)
    except FAILURES as error:
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        row["error"] = one_line(said)
    return row | _provenance(point, time.perf_counter() - begun)


def lost_row(point: Point, reason: str) -> Row:
    """Return the row of a point whose worker ended before it returned a row."""
    row: Row = {"key": point.key, "error": reason, "records": None, **point.derived}
    return row | _provenance(point, 0.0)


def request_of(inputs: Inputs) -> Request:
    """Return the request that inputs come to.

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


def _provenance(point: Point, duration_s: float) -> Row:
    return {
        "version": model_version(),
        "seed": point.seed,
        "host": socket.gethostname(),
        "duration_s": duration_s,
    }


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
    """Return the NPU of a point."""
    rates = NpuEntry.model_validate(dict(npu.data)).rates
    return npu_of(topology_of(topology).with_npu(rates).npu_rates)


@lru_cache(maxsize=1024)
def _npu_rates(topology: Part, npu: Part) -> dict[str, float]:
    return {f"npu.{name}": rate for name, rate in rates_of(topology, npu).rates.items()}
