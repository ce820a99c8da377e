"""Validation of input files; every failure is an :class:`InputError`."""

import re
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .choices import did_you_mean, find_choice, not_one_of
from .docstrings import parameters, summary
from .errors import InputError, InputWarning
from .file_kinds import file_kind
from .reading import read_data

__all__ = [
    "AUTO",
    "NUMBER",
    "AutoOrInt",
    "Check",
    "EachOnce",
    "FileModel",
    "Share",
    "check_file_kind",
    "describe",
    "in_range",
    "int_range",
    "load_model",
    "name_in",
    "number_range",
    "one_of",
    "parse_number",
    "path_of_today",
    "read_kind",
    "refused",
    "renamed",
    "renamed_keys",
    "text_like",
    "validate",
]

M = TypeVar("M", bound=BaseModel)

AUTO: Any = "auto"
"""Value of a field that the specification computes."""

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""Regular expression of the texts that :func:`parse_number` accepts."""


_REFUSED = "refused"
"""Type of validation errors with custom messages."""


def refused(message: str) -> PydanticCustomError:
    """Return a validation error with the allowed values and the given value."""
    return PydanticCustomError(_REFUSED, message)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class Check(BeforeValidator):
    """A check that precedes the type check of a field, with its JSON Schema.

    Parameters
    ----------
    schema : callable
        Returns the JSON Schema of the values that pass, asked for when the schema is written.
    """

    schema: Callable[[], JsonSchemaValue] = dict

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return self.schema()


class AutoOrInt:
    """An integer in a range, or ``AUTO``.

    Parameters
    ----------
    minimum, maximum : int
        Range of the integer.
    """

    def __init__(self, minimum: int, maximum: int) -> None:
        self.minimum, self.maximum = minimum, maximum

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def _check(self, value: object) -> object:
        if value == AUTO:
            return value
        return in_range(value, self.minimum, self.maximum, f"{AUTO} or ")

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number = {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}
        return {"anyOf": [{"const": AUTO}, number]}


class EachOnce:
    """A list of one or more distinct entries."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_each_once, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "minItems": 1, "uniqueItems": True}


def _each_once(entries: list[Any]) -> list[Any]:
    seen: set[Any] = set()
    for entry in entries:
        if entry in seen:
            raise refused(f"must have each entry once, not {entry!r} twice")
        seen.add(entry)
    if not entries:
        raise refused("must have 1 or more entries, not []")
    return entries


class FileModel(BaseModel):
    """Base of all file models: frozen, strict, unknown keys refused.

    Parameters in the docstring of a subclass also appear in the JSON Schema. A key that is not a
    Python name, such as ``peak-perf``, is the alias of its field.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    file_kind: ClassVar[str] = ""
    """Kind of a file with this model, one of ``file_kinds``; None for a part of a file."""

    old_names: ClassVar[Mapping[str, str]] = {}
    """Old names of keys, accepted with a warning for one release, and the names of today."""

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or cls.old_names.keys().isdisjoint(data):
            return data
        return cls.with_names_of_today(cast(Mapping[Any, Any], data))

    @classmethod
    def with_names_of_today(cls, data: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return a mapping with the names of today in place of old names of its keys; warn of them.

        Raises
        ------
        ValueError
            A key occurs by two names.
        """
        return renamed_keys(data, lambda key: cls.old_names.get(key, key))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = handler.resolve_ref_schema(handler(core_schema))
        said = parameters(cls)
        for name, field in found.get("properties", {}).items():
            field.pop("title", None)
            if name in said:
                field["description"] = said[name]
        found["description"] = summary(cls)
        return found

    def check(self, source: str) -> None:
        """Fail unless the fields are consistent; does nothing unless overridden.

        Parameters
        ----------
        source : str
            The file, for error lines.

        Raises
        ------
        InputError
            Fields do not go together; names ``source`` and the field at fault.
        """

    def with_changes(self, **changes: object) -> Self:
        """Return a validated copy with changed fields; computed fields keep their values.

        Raises
        ------
        ValueError
            A value is refused, or a field occurs by its old name and its name of today.
        """
        changes = self.with_names_of_today(changes)
        said = self.model_dump(by_alias=True)
        for name, field in type(self).model_fields.items():
            one, key = getattr(self, name), field.alias or name
            # A value of a subclass remains one of it.
            said |= {key: one} if key in said and isinstance(one, FileModel) else {}
        return self.model_validate({**said, **changes})


def int_range(minimum: int, maximum: int) -> Check:
    """Check of an integer field from ``minimum`` to ``maximum``; booleans are not integers."""
    said = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return Check(lambda value: in_range(value, minimum, maximum), schema=lambda: dict(said))


def in_range(value: object, minimum: int, maximum: int, other: str = "") -> object:
    """Return ``value`` if it is an integer in a range; ``other`` names an alternative in errors."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        span = f"an integer from {minimum} to {maximum}"
        allowed = str(minimum) if minimum == maximum else span
        raise refused(f"must be {other}{allowed}, not {value!r}")
    return value


def number_range(minimum: float, maximum: float) -> Check:
    """Check of a number field; quoted numbers are accepted, as YAML reads 3e12 as text."""
    number = {"type": "number", "minimum": minimum, "maximum": maximum}
    text = {"type": "string", "pattern": f"^{NUMBER}$"}

    def check(value: object) -> object:
        number = parse_number(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            number = nan
        # Compare before converting, as an integer may be too large for a float.
        if not minimum <= number <= maximum:
            raise refused(f"must be a number from {minimum:g} to {maximum:g}, not {value!r}")
        return float(number)

    return Check(check, schema=lambda: {"anyOf": [number, text]})


Share = Annotated[float, number_range(1e-6, 1)]
"""A fraction in a file, above 0."""


def parse_number(text: str) -> float | None:
    """Return the number in a text with optional point and exponent; None if it is no number."""
    return float(text) if re.fullmatch(NUMBER, text) else None


def one_of(*choices: str, listed_by: str | None = None) -> Check:
    """Check of a string field with a fixed set of values; ``listed_by`` as for ``not_one_of``."""
    return name_in(choices, listed_by=listed_by)


def name_in(choices: Collection[str], *others: str, listed_by: str | None = None) -> Check:
    """Check of a string field whose value is a name in a registry.

    The field holds the name as the registry spells it, whatever the case in the file. Some fields
    take ``others`` too, which are listed first. ``listed_by`` is that of ``not_one_of``.
    """

    def check(value: object) -> object:
        known = (*others, *choices)
        if (found := find_choice(value, known)) is None:
            raise refused(not_one_of(value, known, listed_by=listed_by))
        return found

    return Check(check, schema=lambda: {"type": "string", "enum": [*others, *choices]})


def text_like(pattern: str, what: str) -> Check:
    """Check of a text field that matches a pattern; ``what`` describes it in errors."""

    def check(value: object) -> object:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise refused(f"must be {what}, not {value!r:.60}")
        return value

    return Check(check, schema=lambda: {"type": "string", "pattern": f"^(?:{pattern})$"})


def describe(error: ValidationError, model: type[BaseModel]) -> tuple[str, str]:
    """Return field and message of the first error, in the form of error lines."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) or "''" for part in first["loc"])
    given = repr(first.get("input"))
    if len(given) > 60:
        given = given[:57] + "..."
    kind = first["type"]
    if kind == "extra_forbidden":
        allowed = _fields(model, first["loc"][:-1])
        known = f"; allowed are {', '.join(allowed)}" if allowed else ""
        return field, f"unknown key{known}{did_you_mean(first['loc'][-1], allowed)}"
    if kind == "missing":
        return field, "is required and was not given"
    if kind in {_REFUSED, "value_error"}:
        return field, first["msg"].removeprefix("Value error, ")
    if kind in {"model_type", "model_attributes_type", "dict_type"}:
        return field, f"must be a mapping of keys to values, not {given}"
    if kind == "invalid_key":
        return field, f"unknown key; keys must be text, not {given}"
    if kind in {"too_short", "too_long"}:
        limit = [first.get("ctx", {}).get(end) for end in ("min_length", "max_length")]
        few = f"{limit[0]} or more" if kind == "too_short" else f"at most {limit[1]}"
        return field, f"must have {few} entries, not {given}"
    message = first["msg"]
    for prefix in ("Input should be ", "Input should "):
        if message.startswith(prefix):
            message = f"must be {message.removeprefix(prefix)}"
            break
    return field, f"{message}, not {given}"


def _fields(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the allowed keys of the model that ``path`` leads to; empty if it is no model."""
    for part in path:
        if isinstance(part, int):
            continue
        info = _keys(model).get(part)
        nested = _nested(info.annotation) if info else None
        if nested is None:
            return []
        model = nested
    return list(_keys(model))


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model, keyed by their names in files."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def _nested(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _nested(argument)
        if found is not None:
            return found
    return None


def path_of_today(model: type[BaseModel], path: str) -> str:
    """Return a dotted path of keys with the names of today in place of old names of keys."""
    found: type[BaseModel] | None = model
    parts = path.split(".")
    for place, part in enumerate(parts):
        if found is None or not issubclass(found, FileModel):
            break
        parts[place] = found.old_names.get(part, part)
        info = _keys(found).get(parts[place])
        found = _nested(info.annotation) if info else None
    return ".".join(parts)


def renamed(model: type[BaseModel], data: Any, source: str, place: str = "") -> Any:
    """Return the data of a file with the names of today in place of old names of keys.

    Parameters
    ----------
    model : type
        Model of the data; its ``old_names`` and those of nested models are replaced.
    data : any
        Plain data.
    source, place : str
        The file, and the field that the data is the value of, for error lines.

    Raises
    ------
    InputError
        A key occurs by two names.
    """

    def at(key: object) -> str:
        return f"{place}.{key}" if place else str(key)

    if isinstance(data, list):
        entries = enumerate(cast(list[Any], data))
        return [renamed(model, one, source, at(number)) for number, one in entries]
    if not isinstance(data, Mapping) or not issubclass(model, FileModel):
        return data
    try:
        found = model.with_names_of_today(cast(Mapping[Any, Any], data))
    except ValueError as error:
        raise InputError(source, place, str(error)) from None
    for key, info in _keys(model).items():
        if key in found and (inner := _nested(info.annotation)):
            found[key] = renamed(inner, found[key], source, at(key))
    return found


def renamed_keys(data: Mapping[Any, Any], rename: Callable[[Any], Any]) -> dict[Any, Any]:
    """Return a mapping with each key replaced by ``rename`` of it, and warn of old names.

    Raises
    ------
    ValueError
        Two keys have the same new name.
    """
    given: dict[Any, Any] = {}
    for key in data:
        new = rename(key)
        if new in given:
            old = given[new] if key == new else key
            raise refused(f"must not have both {new} and {old}, its old name")
        given[new] = key
    for new, key in given.items():
        if new != key:
            warnings.warn(f"{key}: is deprecated; use {new}", InputWarning, stacklevel=2)
    return {new: data[key] for new, key in given.items()}


def validate(model: type[M], data: object, source: str) -> M:
    """Return ``data`` as ``model``.

    Raises
    ------
    InputError
        A key is unknown, missing, of the wrong type or out of range; names ``source`` and field.
        For a file of another kind, names both kinds.
    """
    if not isinstance(data, Mapping):
        raise InputError(source, "", f"must be a mapping of keys to values, not {data!r:.60}")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        if issubclass(model, FileModel):
            check_file_kind(model.file_kind, data, source)
        raise InputError(source, *describe(error, model)) from None


def check_file_kind(wanted: str, data: object, source: str) -> None:
    """Fail if a file looks like another kind than the expected one.

    Raises
    ------
    InputError
        The file looks like another kind; the error names both kinds.
    """
    given = file_kind(data)
    if wanted and given not in (None, wanted):
        raise InputError(source, "", f"must be {wanted}, not {given}")


def load_model(model: type[M], path: Path) -> M:
    """Return the contents of a file as ``model``: JSON if the name ends so, else YAML.

    Raises
    ------
    InputError
        The file is unreadable, or as ``validate``, or fields do not go together (``check``).
    """
    found = validate(model, read_data(path), str(path))
    if isinstance(found, FileModel):
        found.check(str(path))
    return found


def read_kind(data: object, kinds: Collection[str], source: str, wanted: str) -> str:
    """Return the value of ``kind`` in ``data``, which selects the other keys.

    Parameters
    ----------
    data : object
        Contents of the file.
    kinds : collection of str
        Allowed values.
    source : str
        The file, for error lines.
    wanted : str
        Expected kind of the file, one of ``file_kinds``.

    Raises
    ------
    InputError
        ``kind`` is missing or not one of ``kinds``, or the file is of another kind.
    """
    check_file_kind(wanted, data, source)

    class Kind(FileModel, extra="ignore"):
        kind: Annotated[str, name_in(kinds)]

    return validate(Kind, data, source).kind
