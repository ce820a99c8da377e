"""The page of every key of every YAML file, from the JSON Schemas that the readers' models give."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fred_cli.schemas.file_kind import FILES, FileKind
from fred_hw.errors import InputError
from fred_hw.reading import read_data

__all__ = ["EXAMPLES", "examples", "files", "models", "reference"]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

HEAD = """# Every key of every file

<!-- Written by: python -m docs.generate -->

Files are YAML 1.2 or JSON. A key that is not here is refused, and so is a value of another type or
out of range, in one line that names file and key. Rates and times are in SI base units; numbers
like `3e12` need no quotes.

`fred schema KIND -o FILE` writes the same as a JSON Schema, with which editors complete and check.
With the YAML language server (VS Code, Neovim and others), begin the file with

```text
# yaml-language-server: $schema=FILE
```

A schema knows every key, type, range and choice. What binds values to each other (a buffer that
covers a round trip, heads that divide the hidden size, a record with a port for each link) only the
reader knows. Examples are from files that come with the package; for a key that none has, the
model says one, or its default is the example.
"""

TITLES = ("key", "type", "range", "unit", "default", "example", "meaning")
TYPES = {"string": "text", "boolean": "true or false", "integer": "integer", "number": "number"}
TYPES["object"] = "mapping"

Schema = Mapping[str, Any]


def files(kind: FileKind) -> list[Path]:
    """Return the files of a kind: those of the package, then those in examples/."""
    found = list(kind.shipped())
    for path in sorted(EXAMPLES.glob("*.yaml")):
        try:
            kind.read(path)
        except InputError:
            continue
        found.append(path)
    return found


def alternatives(node: Schema, schema: Schema) -> Iterator[Schema]:
    """Yield what a value may be, with references into ``schema`` followed."""
    if "$ref" in node:
        yield from alternatives(schema["$defs"][node["$ref"].rpartition("/")[2]], schema)
        return
    given = [one["then"] for one in node.get("allOf", ())]
    given += [one for one in node.get("anyOf", ()) if "required" not in one or "title" in one]
    given += node.get("oneOf", ())
    for one in given:
        yield from alternatives(one, schema)
    if not given:
        yield node


def models(schema: Schema) -> dict[str, Schema]:
    """Return the mappings in a schema by their titles, each before those inside it."""
    found: dict[str, Schema] = {}

    def visit(node: Schema) -> None:
        for one in alternatives(node, schema):
            if "title" in one and one.get("properties"):
                if one["title"] in found:  # a model may contain itself
                    continue
                found[one["title"]] = one
            for inner in one.get("properties", {}).values():
                visit(inner)
            for others in ("items", "additionalProperties"):
                if isinstance(one.get(others), dict):
                    visit(one[others])

    visit(schema)
    return found


def _fits(fields: Schema, value: Schema) -> bool:
    """Return whether values are those that models are told apart by, such as their ``kind``."""
    allowed = {
        key: one.get("enum", [one["const"]] if "const" in one else None)
        for key, one in fields.items()
    }
    return all(
        choices is None or value.get(key, choices[0]) in choices for key, choices in allowed.items()
    )


def examples(kind: FileKind) -> dict[tuple[str, str], Any]:
    """Return values from files, by model and key; one that is no default if there is any."""
    schema = kind.schema()
    found: dict[tuple[str, str], Any] = {}

    def visit(node: Schema, value: Any) -> None:
        for one in alternatives(node, schema):
            fields = one.get("properties", {})
            if isinstance(value, dict) and fields.keys() >= value.keys() and _fits(fields, value):
                for key, inner in value.items():
                    place = (one.get("title", ""), key)
                    if place not in found or found[place] == fields[key].get("default"):
                        found[place] = inner
                    visit(fields[key], inner)
            for inner in value if isinstance(value, list) else ():
                visit(one.get("items", {}), inner)

    for path in files(kind):
        visit(schema, read_data(path))
    return found


def _value(value: Any) -> str:
    """Return a value as YAML has it, in backticks."""
    if isinstance(value, float):
        return f"`{value:g}`"
    if isinstance(value, list) and all(isinstance(one, float) for one in value):
        return f"`[{', '.join(f'{one:g}' for one in value)}]`"
    text = json.dumps(value) if not isinstance(value, str) else value
    return f"`{re.sub(chr(34), '', text)}`"


def _type(node: Schema, schema: Schema) -> str:
    """Return the types of a value in words; a mapping is a link to its table."""
    found: list[str] = []
    for one in alternatives(node, schema):
        if "items" in one:
            found.append(f"list of {_type(one['items'], schema)}")
        elif "title" in one and "properties" in one:
            found.append(f"[mapping](#{one['title'].lower()})")
        elif "const" in one:
            found.append(f"`{one['const']}`")
        elif "pattern" in one and len(found) == 1:  # a number in quotes
            continue
        elif one.get("type") != "null":
            found.append(TYPES[one.get("type", "string")])  # choices without one are names
    return " or ".join(dict.fromkeys(found))


def _range(node: Schema, schema: Schema) -> str:
    """Return what values are allowed."""
    found: list[str] = []
    for one in alternatives(node, schema):
        if "enum" in one:
            found.append(", ".join(_value(value) for value in one["enum"]))
        elif "minimum" in one:
            least, most = f"{one['minimum']:.10g}", one.get("maximum")
            found.append(f"{least} or more" if most is None else f"{least} to {most:.10g}")
        if "multipleOf" in one:
            found.append(f"a multiple of {one['multipleOf']}")
        if "items" in one:
            least, most = one.get("minItems", 0), one.get("maxItems")
            found.append(f"{least} of them" if least == most else f"{least} or more of them")
            found.append(_range(one["items"], schema))
        if one.get("uniqueItems"):
            found.append("each once")
    return ", ".join(dict.fromkeys(one for one in found if one))


def _row(name: str, key: str, field: Schema, schema: Schema, example: Any) -> str:
    model = schema if schema.get("title") == name else models(schema)[name]
    said = field.get("description", "")
    unit = re.search(r"\[([^\]]+)\]", said)
    nested = isinstance(example, dict | list) and "mapping" in _type(field, schema)
    if key in model.get("required", ()):
        default = "required"
    elif isinstance(field["default"], dict):
        default = "those of its keys"
    else:
        default = "none" if field["default"] is None else _value(field["default"])
    shown = "its keys" if nested or "mapping" in _type(field, schema) else _value(example)
    said = said.replace(f" {unit[0]}", "", 1) if unit else said
    cells = [f"`{key}`", _type(field, schema), _range(field, schema), unit[1] if unit else ""]
    return f"| {' | '.join([*cells, default, shown, said])} |"


def tables(kind: FileKind) -> Iterator[str]:
    """Yield the lines of the tables of a kind."""
    schema, given = kind.schema(), examples(kind)
    for name, model in models(schema).items():
        yield from (f"### {name}\n", f"{model['description']}\n".replace("``", "`"))
        yield from (f"| {' | '.join(TITLES)} |", "| --- " * len(TITLES) + "|")
        for key, field in model["properties"].items():
            default = field.get("default")
            example = given.get((name, key), default)
            if example is None or example == default:  # then what the model says, if it does
                example = field.get("examples", [example])[0]
            yield _row(name, key, field, schema, example)
        yield ""
    for pattern, field in schema.get("patternProperties", {}).items():
        yield from (f"### {schema['title']}\n", f"| {' | '.join(TITLES)} |")
        yield "| --- " * len(TITLES) + "|"
        keys, one = f"`{pattern.strip('^$')}`", read_data(files(kind)[0])
        example = _value(next(iter(one.values())))
        cells = [keys, _type(field, schema), _range(field, schema), "", "none", example]
        yield f"| {' | '.join(cells)} | {field['description']} |"
        yield ""


def reference() -> str:
    """Return the page."""
    lines = [HEAD]
    for name, kind in FILES.items():
        shown = [path for path in files(kind) if path.is_relative_to(EXAMPLES)]
        links = ", ".join(f"[{path.name}](../../examples/{path.name})" for path in shown)
        lines += [f"## {name}\n", f"{kind.summary} For example {links}.\n", *tables(kind)]
    return "\n".join(lines)
