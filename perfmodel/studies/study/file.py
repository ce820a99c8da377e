"""Study files: which fields vary, which points are left out, and what is looked for."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from fred_hw.file_kinds import STUDY
from fred_hw.files import EachOnce, FileModel, int_range, load_model

from .axes import axis_schema

__all__ = ["StudyFile", "load_study_file"]


def _space_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["topology", "workload"],
        "additionalProperties": axis_schema(),
    }


class StudyFile(FileModel):
    """A space of points, each a training iteration that is estimated.

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

    space: Annotated[dict[str, Any], WithJsonSchema(_space_schema())]
    zip: Annotated[
        list[Annotated[list[str], EachOnce()]],
        Field(examples=[[["topology", "topology.npu.peak_flops"]]]),
    ] = Field(default_factory=list[list[str]])
    constraints: Annotated[list[str], Field(examples=[["npus == mp * dp * pp"]])] = Field(
        default_factory=list[str]
    )
    objectives: Annotated[list[str], EachOnce()] = Field(default=["time_per_sample_s"])
    seed: Annotated[int, int_range(0, 2**32 - 1)] = 1


def load_study_file(path: Path) -> StudyFile:
    """Return what a study file says; its fields and values are checked by ``plan.load_study``.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or of the wrong type.
    """
    return load_model(StudyFile, path)
