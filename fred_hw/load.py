"""Specifications from files and presets."""

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from .choices import did_you_mean, find_choice
from .errors import InputError
from .file_kinds import PRESET, READ_AS_YAML, SWITCH, suffix_kind
from .files import path_of_today, renamed, renamed_keys, validate
from .reading import read_data
from .spec import SwitchSpec
from .yaml_text import parse_yaml

__all__ = [
    "PRESETS",
    "changed",
    "has_key",
    "load_model",
    "load_spec",
    "parse_change",
    "preset_path",
    "preset_summary",
]

M = TypeVar("M", bound=BaseModel)

_MAX_NAMES = 8  # in the dotted key of a changed parameter

_FOLDER = Path(str(resources.files("fred_hw") / "presets"))

PRESETS: tuple[str, ...] = tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def load_spec(source: str, changes: Mapping[str, Any] | None = None) -> SwitchSpec:
    """Return the specification in a YAML file or preset ``source``, with changed fields.

    Parameters
    ----------
    source : str
        Name of a preset, or path of a YAML file.
    changes : Mapping, optional
        Values that replace those of the file, by field name; ``protocol.phases`` names a field
        of ``protocol``.

    Raises
    ------
    InputError
        The file cannot be read, or a field is unknown, missing or out of range. A field occurs by
        its old name and its name of today, in the file or in the changes.
    """
    preset = find_choice(source, PRESETS)
    path = preset_path(preset) if preset else Path(source)
    if not preset and not os.access(path, os.F_OK) and not path.suffix:
        raise InputError(source, "", _missing(source))
    return load_model(SwitchSpec, preset or source, changes, path)


def load_model(
    model: type[M], source: str, changes: Mapping[str, Any] | None = None, path: Path | None = None
) -> M:
    """Return the contents of the YAML file ``source`` as ``model``, with changed fields.

    Changes and errors are those of :func:`load_spec`; ``path`` is the file, if errors call it
    something else.
    """
    wanted = getattr(model, "file_kind", SWITCH)
    if path is None and wanted != SWITCH and find_choice(source, PRESETS):
        raise InputError(source, "", f"must be {wanted}, not {PRESET}")
    if (given := suffix_kind(Path(source))) not in READ_AS_YAML:
        raise InputError(source, "", f"must be {wanted}, not {given}")
    data = read_data(path or Path(source))
    if isinstance(data, Mapping) and changes:
        try:
            changes = renamed_keys(changes, lambda key: path_of_today(model, key))
        except ValueError as error:
            raise InputError(source, "", str(error)) from None
        data = renamed(model, data, source)
        for key, value in changes.items():
            data = changed(data, key.split("."), value)
    return validate(model, data, source)


def _missing(source: str) -> str:
    """Return the error message for a text that is neither a preset nor a file."""
    suggestion = did_you_mean(source, PRESETS)
    return f"must be an existing file or a preset that 'fred presets' lists{suggestion}"


def has_key(source: str, key: str) -> bool:
    """Return whether ``source`` is a YAML file with a key that identifies its kind.

    Raises
    ------
    InputError
        There is such a file, and it cannot be read.
    """
    if find_choice(source, PRESETS) or not os.access(source, os.F_OK):
        return False
    data = read_data(Path(source))
    return isinstance(data, Mapping) and key in data


def changed(data: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """Return ``data`` with the value at ``path`` replaced."""
    key, *rest = path
    if rest:
        inner = data.get(key, {})
        value = changed(inner if isinstance(inner, Mapping) else {}, rest, value)
    return {**data, key: value}


def parse_change(text: str, option: str = "--set") -> tuple[str, Any]:
    """Return field and value of a ``key=value`` argument; the value is read as YAML.

    Raises
    ------
    InputError
        There is no key or one with too many names, no ``=``, or the value is not YAML.
    """
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise InputError(option, "", f"must be key=value, not {text!r}")
    if key.count(".") >= _MAX_NAMES:
        message = f"must have at most {_MAX_NAMES} names, not {key.count('.') + 1}"
        raise InputError(option, key.strip(), message)
    try:
        return key.strip(), parse_yaml(value)
    except InputError:
        raise InputError(option, key.strip(), f"must be a YAML value, not {value!r}") from None


def preset_path(name: str) -> Path:
    """Return the path of a preset."""
    return _FOLDER / f"{name}.yaml"


def preset_summary(name: str) -> str:
    """Return the first comment line of a preset."""
    text = preset_path(name).read_text(encoding="utf-8")
    first = text.splitlines()[0]
    return first.lstrip("# ").strip() if first.startswith("#") else ""
