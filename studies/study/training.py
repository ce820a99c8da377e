"""Points that are training iterations: what their inputs come to, figures and lower bounds."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from math import nan
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fred_hw.errors import InputError
from perfmodel.figures import figures_of
from perfmodel.libra.topology import cost_of
from perfmodel.memory.file import MemoryFile
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.files import NpuEntry
from perfmodel.training.bound import Fabric, Rates, Sizes, bounds_of
from perfmodel.training.compute import Npu, npu_of
from perfmodel.training.compute_model import compute_model
from perfmodel.training.equal_terms import equal_npus
from perfmodel.training.estimate import Estimate, memory_of, simulate, summarize
from perfmodel.training.request import Request
from perfmodel.workloads.workload import Workload, build_workload

from .axes import Value
from .file import FIGURES, ROOTS
from .inputs import (
    PARTS,
    SIZES,
    Inputs,
    Part,
    TrainingResolver,
    column_of,
    identity_of,
    options_of,
    prices_of,
    topology_of,
)
from .kind import Comparison, Kind, Resolver, Row
from .point import FAILURES
from .shared import Numbers, Shared
from .space import Space

__all__ = ["TRAINING", "rates_of", "workload_of"]

T = TypeVar("T")

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
    """Return all inputs, and the NPU rates and the cost that result from them."""
    found = {**inputs.fields(), **_npu_rates(inputs.topology, inputs.npu)}
    return found if inputs.tiers is None else found | {"cost": _cost(inputs.topology, inputs.tiers)}


def _evaluate(inputs: Inputs) -> Row:
    found = summarize(simulate(request_of(inputs), fitting=False))
    row = {"npus": topology_of(inputs.topology).npus, **_figures(found)}
    return row | {"records": "; ".join(found.provenance.said_records)}


def _depends(name: str) -> set[str]:
    root = name.partition(".")[0]
    if column_of(name) in (*SIZES, "workers", "strategy"):
        return {"strategy", "workload"}
    if name == "npus":
        return {"topology"}
    if name == "cost":
        return {"topology", "tiers", "prices"}
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
        **options_of(inputs.options),
    )


def _figures(found: Estimate) -> Row:
    bare = replace(found, provenance=Provenance())
    figures = {key: one for key, one in asdict(bare).items() if key not in _SAID_OF_INPUTS}
    # What was asked for has the name of the option, what was chosen another one.
    figures["placed"] = figures.pop("placement")
    memory = found.memory
    figures["memory"] |= {"total_bytes": memory.total_bytes, "least_bytes": memory.least_bytes}
    return dict(figures_of("", figures))


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


@lru_cache(maxsize=1024)
def _cost(topology: Part, tiers: Part) -> float:
    """Return the cost of a topology [$]."""
    return cost_of(topology_of(topology), prices_of(tiers))


class _Bounds:
    """Lower bounds of the objectives of points; what they follow from is found once.

    Parameters
    ----------
    space, resolver : Space, Resolver
        The points, and what finds their inputs.
    objectives : sequence of str
        Figures to bound.
    """

    def __init__(self, space: Space, resolver: Resolver, objectives: Sequence[str]) -> None:
        self._space, self._resolver, self._objectives = space, resolver, objectives
        shared = self._shared
        self._workloads = shared(("workload",), lambda part: workload_of(part("workload")), None)
        self._sizes = shared(
            ("strategy", "workload"),
            lambda part: Sizes.of(part("strategy")),
            Sizes(*[nan] * len(Sizes._fields)),
        )
        self._rates = shared(("topology", "npu", "compute"), _rates, [nan] * len(Rates.row(Npu())))
        self._fabric = shared(
            ("topology", "remote_memory"), _fabric, Fabric(*[nan] * len(Fabric._fields))
        )
        self._scale = shared(("compute", "workload", "topology", "npu"), _scale, nan)
        self._cost = shared(("topology", "tiers", "prices"), _cost_of_parts, 0.0)

    def _shared(
        self, roots: tuple[str, ...], find: Callable[[Callable[[str], Any]], T], unknown: T
    ) -> Shared[T]:
        """Return what ``find`` finds with the parts of a point, or ``unknown`` if it fails."""

        def found(number: int) -> T:
            values = self._space[number]
            try:
                return find(lambda part: self._resolver.part(part, values))
            except FAILURES:  # so does the simulation of the point, whose row has the reason
                return unknown

        return Shared(self._space, roots, found)

    def __call__(self, numbers: Numbers) -> NDArray[np.float64]:
        """Return a row of bounds for each point; 0 where none is known."""
        rows = np.zeros((len(numbers), len(self._objectives)))
        if "cost" in self._objectives:  # known without a simulation
            rows[:, self._objectives.index("cost")] = self._cost.each(numbers)
        sizes, rates = self._sizes.each(numbers), self._rates.each(numbers)
        fabric, scale = self._fabric.each(numbers), self._scale.each(numbers)
        workloads, index = self._workloads.of(numbers)
        for number, workload in enumerate(workloads):
            if workload is None:
                continue
            here = np.flatnonzero(index == number)
            found = bounds_of(
                workload,
                Sizes(*sizes[here].T),
                Rates.of(rates[here]),
                Fabric(*fabric[here].T),
                scale[here],
            )
            for column, name in enumerate(self._objectives):
                if name in found:
                    rows[here, column] = np.nan_to_num(found[name], nan=0.0, posinf=0.0)
        return rows


def _rates(part: Callable[[str], Any]) -> list[float]:
    npu = rates_of(part("topology"), part("npu"))
    return Rates.row(compute_model(part("options").data["compute"]).npu(npu))


def _fabric(part: Callable[[str], Any]) -> Fabric:
    return Fabric.of(topology_of(part("topology")), remote_memory=part("memory") is not None)


def _scale(part: Callable[[str], Any]) -> float:
    topology, workload = topology_of(part("topology")), workload_of(part("workload"))
    npu = rates_of(part("topology"), part("npu"))
    return compute_model(part("options").data["compute"]).scale(workload.name, topology, npu)


def _cost_of_parts(part: Callable[[str], Any]) -> float:
    tiers = part("tiers")
    return 0.0 if tiers is None else _cost(part("topology"), tiers)


def _check_terms(base: Inputs, other: Inputs, as_is: bool) -> None:
    """Refuse topologies with different NPUs, or that a model of compute cannot compare."""
    fabrics = [topology_of(one.topology) for one in (base, other)]
    compute_model(other.options.data["compute"]).check(fabrics)
    rates = {one.topology.name: rates_of(one.topology, one.npu) for one in (base, other)}
    equal_npus(rates, as_is=as_is)


def _npus_of(resolver: Resolver, name: str) -> dict[str, Value]:
    values: dict[str, Value] = {"topology": name}
    return {**_npu_rates(resolver.part("topology", values), resolver.part("npu", values))}


TRAINING = Kind(
    required=("topology", "workload"),
    parts=PARTS,
    figures=FIGURES,
    resolver=TrainingResolver,
    derived=_derived,
    evaluate=_evaluate,
    identity=identity_of,
    needs={"cost": "tiers"},
    depends=_depends,
    names=("npus", "fits_memory", *(f"strategy.{size}" for size in SIZES)),
    value_of=_value_of,
    bounds=_Bounds,
    comparison=Comparison(
        "topology", "iteration_time_s", ("topology", "npu", "compute"), _check_terms, _npus_of
    ),
)
