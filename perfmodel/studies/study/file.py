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
    "StudyFile",
    "load_study_file",
]

ROOTS = ("topology", "workload", "strategy", "npu", "remote_memory", *OPTIONS)
"""First parts of the names of a study's fields."""

FIGURES = (
    "iteration_time_s",
    "time_per_sample_s",
    "compute_s",
    "busy_s",
    "peak_share",
    "memory.total_bytes",
    "memory.least_bytes",
)
"""Figures that a study can minimize."""


SWITCH_ROOTS = ("specification", "level", "liberty", "effort", "simulator")
"""First parts of the names of fields in a study of switches."""

SWITCH_FIGURES = ("area_um2", "clock_ns", "latency_cycles")
"""Figures that a study of switches can minimize."""


class _Space:
    """JSON Schema of the fields of a space; ``space.read_space`` checks the fields themselves."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        one = {"anyOf": [{"type": name} for name in ("string", "number", "boolean", "null")]}
        name = {"type": "string"}
        rules = [rule.model_json_schema() for rule in AXES.values()]
        whole = (*OPTIONS, *SWITCH_ROOTS[1:])
        paths = "|".join(root for root in (*ROOTS, *SWITCH_ROOTS) if root not in whole)
        return {
            "type": "object",
            "anyOf": [{"required": ["topology", "workload"]}, {"required": ["specification"]}],
            "propertyNames": {"pattern": rf"^(({paths})(\..+)?|{'|'.join(whole)})$"},
            "properties": dict.fromkeys(
                ("topology", "workload", "specification"), _one_or_more(name)
            ),
            "additionalProperties": {"anyOf": [_one_or_more(one), *rules]},
        }


def _one_or_more(one: JsonSchemaValue) -> JsonSchemaValue:
    some = {"type": "array", "items": one, "minItems": 1}
    return {"anyOf": [one, some]}


class StudyFile(FileModel):
    """A space of points; each point is the estimate of a training iteration, or a switch.

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
    objectives: Annotated[
        list[Annotated[str, name_in((*FIGURES, *SWITCH_FIGURES))]], EachOnce()
    ] = Field(default=["time_per_sample_s"])
    seed: Annotated[int, int_range(0, 2**32 - 1)] = 1


def load_study_file(path: Path) -> StudyFile:
    """Return the contents of a study file; ``plan.load_study`` checks its fields and values.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or of the wrong type.
    """
    return load_model(StudyFile, path)
