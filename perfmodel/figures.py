"""Figures of results as flat table rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

__all__ = ["figures_of"]


def figures_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the figures in a value, each with its column name.

    Keys of nested mappings are joined by points. A list is one text; lists of mappings, such as
    the links of a collective, are left out.
    """
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            yield from figures_of(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        if not any(isinstance(item, Mapping) for item in items):
            yield name, " ".join(map(str, items))
    else:
        yield name, value
