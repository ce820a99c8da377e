"""Study files: fields to vary, constraints and objectives."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from fred_hw.file_kinds import STUDY
from fred_hw.files import EachOnce, FileModel, int_range, load_model, name_in
from perfmodel.training.options import OPTIONS

from .axes import AXES

__all__ = [
    "FIGURES",
    "ROOTS",
    "SWITCH_FIGURES",
    "SWITCH_ROOTS",
    "TRACE_FIGURES",
    "TRACE_ROOTS",
    "WHOLE",
    "StudyFile",
    "load_study_file",
]

WHOLE = (*OPTIONS, "tiers", "prices")
"""Fields of a study that have no fields of their own."""

ROOTS = ("topology", "workload", "strategy", "npu", "remote_memory", *WHOLE)
"""First parts of the names of a study's fields."""

FIGURES = (
    "iteration_time_s",
    "time_per_sample_s",
    "compute_s",
    "busy_s",
    "peak_share",
    "energy.total_j",
    "memory.total_bytes",
    "memory.least_bytes",
    "cost",
)
"""Figures that a study can minimize."""


SWITCH_ROOTS = (
    *("specification", "level", "liberty", "effort"),
    *("simulator", "regression", "seed"),
)
"""First parts of the names of fields in a study of switches."""

SWITCH_FIGURES = ("area_um2", "clock_ns", "latency_cycles", "tests_failed")
"""Figures that a study of switches can minimize."""


TRACE_ROOTS = (
    *("traces", "network", "system", "remote_memory", "groups"),
    *("network_model", "num_queues_per_dim"),
)
"""Fields of a study of execution traces."""

TRACE_FIGURES = ("total_ns", "compute_ns", "communication_ns", "exposed_communication_ns")
"""Figures that a study of execution traces may minimize, of the rank that ends last."""


class _Space:
    """JSON Schema of the fields of a space; ``space.read_space`` checks the fields themselves."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        one = {"anyOf": [{"type": name} for name in ("string", "number", "boolean", "null")]}
        text = {"type": "string"}
        required = (("topology", "workload"), ("specification",), ("traces", "network", "system"))
        rules = [rule.model_json_schema() for rule in AXES.values()]
        whole = {*SWITCH_ROOTS[1:], *TRACE_ROOTS} - {*ROOTS} | {*WHOLE}
        every = dict.fromkeys((*ROOTS, *SWITCH_ROOTS, *TRACE_ROOTS))
        paths = "|".join(root for root in every if root not in whole)
        return {
            "type": "object",
            "anyOf": [{"required": [*one]} for one in required],
            "propertyNames": {"pattern": rf"^(({paths})(\..+)?|{'|'.join(sorted(whole))})$"},
            "properties": {name: _one_or_more(text) for one in required for name in one},
            "additionalProperties": {"anyOf": [_one_or_more(one), *rules]},
        }


def _one_or_more(one: JsonSchemaValue) -> JsonSchemaValue:
    some = {"type": "array", "items": one, "minItems": 1}
    return {"anyOf": [one, some]}


_figure = name_in((*FIGURES, *SWITCH_FIGURES, *TRACE_FIGURES), listed_by="fred schema study")


class StudyFile(FileModel):
    """A space of points, each a training iteration, a run of execution traces, or a switch.

    Parameters
    ----------
    space : mapping
        Fields by dotted path, each with a value, a list, or a mapping with ``range``,
        ``log_range`` or ``distribution``. Every value of a field meets every value of the others.
    zip : list of list of str
        Groups of fields whose values are taken together: the first of each, the second of each.
    constraints : list of str
        Expressions over fields that points satisfy, such as ``npus == mp * dp * pp`` or
        ``fits_memory``.
    objectives : list of str
        Figures to minimize; the best point of each is printed.
    seed : int
        Seed of all distributions.
    baseline : str
        Topology, or network of traces, with which the others are compared: each point gets a
        speed-up over the point that is equal in all other fields. Topologies with different NPUs
        are then refused, unless ``npu_from`` or ``as_is`` is given.
    npu_from : str
        Topology whose NPUs all topologies get. Fields ``npu.KEY`` change them.
    as_is : bool
        Whether to compare topologies with different NPUs.
    """

    file_kind = STUDY

    space: Annotated[dict[str, Any], _Space()]
    zip: Annotated[
        list[Annotated[list[str], EachOnce()]],
        Field(examples=[[["topology", "topology.npu.peak_flops"]]]),
    ] = Field(default=[])
    constraints: Annotated[list[str], Field(examples=[["npus == mp * dp * pp"]])] = Field(
        default=[]
    )
    objectives: Annotated[list[Annotated[str, _figure]], EachOnce()] = Field(
        default=["time_per_sample_s"]
    )
    seed: Annotated[int, int_range(0, 2**32 - 1)] = 1
    baseline: Annotated[str | None, Field(examples=["mesh:4x4"])] = None
    npu_from: Annotated[str | None, Field(examples=["fred-d"])] = None
    as_is: bool = False


def load_study_file(path: Path) -> StudyFile:
    """Return the contents of a study file; ``plan.load_study`` checks its fields and values.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or of the wrong type.
    """
    return load_model(StudyFile, path)
