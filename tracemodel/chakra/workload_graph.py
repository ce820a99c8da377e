"""Workload graphs: traces in the JSON form of Chakra's feeder, an object with a list of nodes.

Each node has ``Id``, ``Name``, ``NodeType``, ``data_deps`` and ``runtime`` [us]; its other keys are
attributes, such as ``is_cpu_op`` and ``comm_size``. https://github.com/mlcommons/chakra, src/feeder
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from fred_hw.errors import InputError
from fred_hw.files import in_range

from .json_files import read_object
from .kinds import NodeType
from .node import DURATION_NS, Attr, Metadata, Node

__all__ = ["METADATA", "read_graph"]

METADATA = Metadata()
"""Metadata of a workload graph, which is empty."""

_MOST, _MOST_NS = (1 << 64) - 1, 1 << 62
_FIELDS = ("Id", "Name", "NodeType", "runtime", "data_deps", "ctrl_deps")


def read_graph(path: Path) -> Iterator[Node]:
    """Yield the nodes of a workload graph.

    Raises
    ------
    InputError
        The file is unreadable or no workload graph; names the node by its place in the list.
    """
    graph = read_object(path).get("workload_graph")
    if not isinstance(graph, list):
        message = f"must be a list of nodes, not {graph!r:.60}"
        raise InputError(str(path), "workload_graph", message)
    for place, said in enumerate(cast("list[object]", graph)):
        field = f"workload_graph.{place}"
        if not isinstance(said, Mapping):
            raise InputError(str(path), field, f"must be a node, not {said!r:.60}")
        try:
            yield _node(cast("Mapping[str, Any]", said))
        except InputError as error:
            raise InputError(str(path), f"{field}.{error.field}", error.message) from None


def _node(said: Mapping[str, Any]) -> Node:
    name = said.get("Name", "")
    if not isinstance(name, str):
        raise InputError("", "Name", f"must be a text, not {name!r:.60}")
    duration_us, attrs = _runtime(said.get("runtime", 0))
    return Node(
        _integer(said, "Id", _MOST),
        name,
        _integer(said, "NodeType", max(NodeType)),
        _deps(said, "ctrl_deps"),
        _deps(said, "data_deps"),
        duration_us=duration_us,
        attrs=(*attrs, *(_attr(key, value) for key, value in said.items() if key not in _FIELDS)),
    )


def _integer(said: Mapping[str, Any], key: str, most: int) -> int:
    if key not in said:
        raise InputError("", key, "is required and was not given")
    try:
        return cast("int", in_range(said[key], 0, most))
    except ValueError as error:
        raise InputError("", key, str(error)) from None


def _deps(said: Mapping[str, Any], key: str) -> tuple[int, ...]:
    value = said.get(key, [])
    if not isinstance(value, list):
        raise InputError("", key, f"must be a list of ids, not {value!r:.60}")
    deps = cast("list[Any]", value)
    return tuple(_integer({key: one}, key, _MOST) for one in deps)


def _runtime(value: Any) -> tuple[int, tuple[Attr, ...]]:
    """Return whole us, and an attribute with ns if the duration is not a whole number of us."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MOST_NS // 1000:
        raise InputError("", "runtime", f"must be a number of microseconds, not {value!r:.60}")
    if value == int(value):
        return int(value), ()
    return int(value), (Attr(DURATION_NS, "int64", max(1, round(1000 * value))),)


def _attr(name: str, value: Any) -> Attr:
    """Return an attribute of the kind that matches its JSON value."""
    if isinstance(value, list):
        values = cast("list[Any]", value)
        kinds = {_kind(name, one) for one in values}
        if len(kinds) > 1:
            raise InputError("", name, f"must be values of one kind, not {value!r:.60}")
        return Attr(name, f"{kinds.pop() if kinds else 'int64'}_list", tuple(values))
    return Attr(name, _kind(name, value), value)


def _kind(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) and -(1 << 63) <= value <= _MOST:
        return "int64" if value < 1 << 63 else "uint64"
    if isinstance(value, float):
        return "double"
    if isinstance(value, str):
        return "string"
    raise InputError("", name, f"must be a number, a text, true or false, not {value!r:.60}")
