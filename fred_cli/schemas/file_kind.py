"""The interface of a kind of input file, and the registry of all kinds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from fred_hw.files import FileModel
from fred_hw.registry import Registry

__all__ = ["FILES", "FileKind", "document", "of_kinds", "of_model"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class FileKind:
    """A kind of input file.

    Parameters
    ----------
    summary : str
        Description of the file, for users.
    schema : callable
        Returns its JSON Schema, draft 2020-12.
    read : callable
        Reads a file of the kind as commands do; the value does not matter.
    shipped : callable
        Returns the files of the kind that come with the package; none by default.
    """

    summary: str
    schema: Callable[[], dict[str, Any]]
    read: Callable[[Path], object]
    shipped: Callable[[], Sequence[Path]] = tuple


FILES: Registry[FileKind] = Registry("fred_cli.schemas", "kind of files")
"""Kinds of files by the name that ``fred schema`` takes; each module of this package adds one."""


def document(title: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a complete JSON Schema with a title."""
    return {"$schema": DIALECT, **schema, "title": title}


def of_model(title: str, model: type[FileModel]) -> dict[str, Any]:
    """Return the JSON Schema of files that contain one mapping."""
    return document(title, model.model_json_schema())


def of_kinds(title: str, summary: str, models: Mapping[str, type[FileModel]]) -> dict[str, Any]:
    """Return the JSON Schema of files whose key ``kind`` selects one of several models."""
    refs, found = models_json_schema([(model, "validation") for model in models.values()])
    chosen = [
        {
            "if": {"properties": {"kind": {"const": name}}, "required": ["kind"]},
            "then": refs[model, "validation"],
        }
        for name, model in models.items()
    ]
    schema: dict[str, Any] = {
        "description": summary,
        "type": "object",
        "properties": {"kind": {"enum": list(models)}},
        "required": ["kind"],
        "allOf": chosen,
        "$defs": found["$defs"],
    }
    return document(title, schema)
