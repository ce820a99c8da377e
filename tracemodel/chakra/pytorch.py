"""Conversion of PyTorch execution traces and Kineto traces of the same run to Chakra traces.

The execution trace has the operators of the host with their callers and tensors. The Kineto trace
has times, and the operations on the device. An operator is the same in both if its ``rf_id`` is the
``Record function id`` there. An operation on the device belongs to the innermost operator that was
running, in the same thread, when the call with its ``correlation`` launched it, or to the last
operator before that.

Dependencies are those that Chakra's own converter makes (github mlcommons/chakra, ``trace_link``
and ``pytorch_converter.py``): operators of a thread follow each other in the order of their calls,
an operation on the device follows the operator that launched it, collectives of a process group
follow each other, and an operator after a pause of its thread follows the last one of other
threads. As on the device, operations of a stream follow each other too, and those of a stream that
was made to wait for an event follow what was launched before the event.
"""

import warnings
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from fred_hw.errors import InputError, InputWarning

from .json_files import mapping_of, read_object
from .kinds import NodeType
from .kineto import Event, Kineto, is_nccl
from .nccl import communication
from .node import DURATION_NS, Attr, InOut, Metadata, Node
from .process_groups import NAME as PROCESS_GROUPS

__all__ = ["from_pytorch"]

_THREADS = (
    "[pytorch|profiler|execution_trace|thread]",
    "[pytorch|profiler|execution_graph|thread]",
)
_PAUSE_US = 1000
"""Pause after which an operator is taken to wait for other threads, as in Chakra's trace_link
[us]."""

_METADATA = {"schema": "string", "pid": "uint64", "time": "string"}
_NUMBERS = ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")
_MOST = (1 << 63) - 1


@dataclass
class _Operator:
    """A host operator and the operations that it launched."""

    id: int
    name: str
    parent: int
    said: Mapping[str, Any]
    attrs: Mapping[str, Any]
    event: Event | None = None
    launched: list[tuple[float, Event]] = field(default_factory=list[tuple[float, Event]])
    children: list["_Operator"] = field(default_factory=list["_Operator"])


def from_pytorch(path: Path, kineto: Path) -> tuple[list[Node], Metadata]:
    """Return the nodes and the metadata of one rank.

    Parameters
    ----------
    path : Path
        Execution trace of PyTorch, JSON, maybe compressed by gzip.
    kineto : Path
        Kineto trace of the same run, likewise.

    Raises
    ------
    InputError
        A file is unreadable or something else, or they have no operator in common.

    Warns
    -----
    InputWarning
        Nothing says what launched some operations on the device, which are left out.
    """
    said = read_object(path)
    operators = _operators(said, str(path))
    trace = Kineto(read_object(kineto), str(kineto))
    by_event: dict[Event, _Operator] = {}
    for one in operators.values():
        number = one.attrs.get("rf_id")
        one.event = trace.operators.get(number) if isinstance(number, int) else None
        if one.event:
            by_event[one.event] = one
    if not by_event:
        message = f"must be of the same run as {path}: no 'Record function id' is an rf_id there"
        raise InputError(str(kineto), "", message)
    launched = 0
    for begin, operator, event in trace.launches(by_event):
        by_event[operator].launched.append((begin, event))
        launched += 1
    left = trace.operations - launched
    if left:
        message = f"{left:,} of {trace.operations:,} operations on the device are left out"
        text = f"{kineto}: {message}, as nothing says which operator launched them"
        warnings.warn(text, InputWarning, stacklevel=1)
    nodes = _Nodes(operators, trace).made(str(path))
    return nodes, Metadata(attrs=tuple(_metadata(said)))


def _metadata(said: Mapping[str, Any]) -> Iterator[Attr]:
    for key, kind in _METADATA.items():
        value = said.get(key)
        if isinstance(value, str if kind == "string" else int) and value != -1:
            yield Attr(key, kind, value)


def _operators(said: Mapping[str, Any], source: str) -> dict[int, _Operator]:
    """Return the operators of an execution trace with their children, keyed by id."""
    nodes = said.get("nodes")
    if "schema" not in said or not isinstance(nodes, list):
        message = "must be a PyTorch execution trace, with schema and nodes"
        raise InputError(source, "", message)
    if "chakra" not in str(said["schema"]):
        message = f"must be one for Chakra, such as 1.1.1-chakra.0.0.4, not {said['schema']!r:.60}"
        raise InputError(source, "schema", message)
    found: dict[int, _Operator] = {}
    for place, value in enumerate(cast("list[object]", nodes)):
        where = f"nodes.{place}"
        if not isinstance(value, Mapping):
            raise InputError(source, where, f"must be a node, not {value!r:.60}")
        node = cast("Mapping[str, Any]", value)
        if "cat" in node:
            message = "must be operators of the host, not a trace that trace_link has linked"
            raise InputError(source, where, message)
        number, parent = (_id(node, key, source, where) for key in ("id", "ctrl_deps"))
        name = node.get("name")
        if not isinstance(name, str):
            raise InputError(source, f"{where}.name", f"must be a text, not {name!r:.60}")
        if number in found:
            raise InputError(source, f"{where}.id", f"must occur once, not {number} again")
        found[number] = _Operator(number, name, parent, node, _attrs(node, source, where))
    for one in found.values():
        if one.parent in found and one.parent != one.id:
            found[one.parent].children.append(one)
    for one in found.values():
        one.children.sort(key=lambda child: child.id)
    if not any(one.name in _THREADS for one in found.values()):
        message = f"must have a node named {_THREADS[0]}"
        raise InputError(source, "nodes", message)
    return found


def _id(node: Mapping[str, Any], key: str, source: str, where: str) -> int:
    value = node.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        message = f"must be an integer from 0 to {_MOST}, not {value!r:.60}"
        raise InputError(source, f"{where}.{key}", message)
    return value


def _attrs(node: Mapping[str, Any], source: str, where: str) -> dict[str, Any]:
    """Return the attributes of a node, keyed by name."""
    attrs = node.get("attrs", [])
    found: dict[str, Any] = {}
    for one in cast("list[Any]", attrs) if isinstance(attrs, list) else [attrs]:
        if not isinstance(one, Mapping) or "name" not in one or "value" not in one:
            message = f"must be objects with name and value, not {one!r:.60}"
            raise InputError(source, f"{where}.attrs", message)
        entry = cast("Mapping[str, Any]", one)
        found[str(entry["name"])] = entry["value"]
    return found


class _Nodes:
    """Converter of operators to nodes, in the order of threads and calls."""

    def __init__(self, operators: Mapping[int, _Operator], trace: Kineto) -> None:
        self._operators, self._trace = operators, trace
        self._numbers: dict[int, int] = {}
        self._by_event: dict[Event, int] = {}
        self._device: list[tuple[float, Event, _Operator, int]] = []
        self._nodes: list[Node] = []

    def made(self, source: str) -> list[Node]:
        """Return the nodes."""
        reached = list(self._reached())
        # Numbers follow the calls, so that ready nodes are issued in call order.
        for one in sorted(reached, key=lambda one: one.id):
            self._numbers[one.id] = len(self._numbers) + len(self._device)
            if one.event:
                self._by_event[one.event] = self._numbers[one.id]
            for begin, event in sorted(one.launched, key=lambda launch: launch[0]):
                number = len(self._numbers) + len(self._device)
                self._device.append((begin, event, one, number))
        last: int | None = None
        before: Event | None = None
        for one in reached:
            if one.name in _THREADS:
                last = before = None
            self._add_host(one, last, before)
            last, before = self._numbers[one.id], one.event or before
        self._add_device(source)
        return sorted(self._nodes, key=lambda node: node.id)

    def _reached(self) -> Iterator[_Operator]:
        """Yield the operators of each thread, callers before callees."""
        roots = [one for one in self._operators.values() if one.name in _THREADS]
        for root in sorted(roots, key=lambda one: one.id):
            waiting = [root]
            while waiting:
                one = waiting.pop()
                yield one
                waiting += [child for child in reversed(one.children) if child.name not in _THREADS]

    def _add_host(self, one: _Operator, last: int | None, before: Event | None) -> None:
        """Add the node of a host operator, which follows the previous one of its thread."""
        deps = [] if last is None else [last]
        event = one.event
        if event and (before is None or event.begin - before.end > _PAUSE_US):
            other = self._trace.last_elsewhere(event.thread, event.begin)
            number = self._by_event.get(other) if other else None
            deps += [] if number is None or number in deps else [number]
        duration_us, exact = _duration(event.exclusive if event else 0)
        is_groups = PROCESS_GROUPS in one.name
        parent = self._numbers.get(one.parent)
        self._nodes.append(
            Node(
                self._numbers[one.id],
                one.name,
                NodeType.METADATA_NODE if is_groups else NodeType.COMP_NODE,
                () if parent is None else (parent,),
                tuple(deps),
                int(event.begin) if event else 0,
                duration_us,
                _tensors(one.said.get("inputs")),
                _tensors(one.said.get("outputs")),
                (Attr("is_cpu_op", "bool", True), *exact, *_attributes(one.attrs)),
            )
        )

    def _add_device(self, source: str) -> None:
        """Add the nodes of device operations, in the order of their launches."""
        waits = deque(self._trace.waits())
        streams: dict[int | None, list[tuple[float, int]]] = {}
        held: dict[int | None, list[int]] = {}  # dependencies of the next operation of a stream
        groups: dict[str, int] = {}
        for begin, event, one, number in sorted(self._device, key=lambda launch: launch[0]):
            while waits and waits[0].begin <= begin:
                wait = waits.popleft()
                launched = streams.get(wait.other, [])
                place = bisect_right(launched, wait.until, key=lambda launch: launch[0])
                if place:
                    held.setdefault(wait.stream, []).append(launched[place - 1][1])
            stream = event.integer("stream")
            deps = [self._numbers[one.id], *held.pop(stream, ())]
            deps += [earlier for _, earlier in streams.get(stream, [])[-1:]]
            kind, attrs = NodeType.COMP_NODE, tuple[Attr, ...]()
            if is_nccl(event):
                kind, attrs = self._communication(event, one, source)
            if kind == NodeType.COMM_COLL_NODE:
                name = next((str(attr.value) for attr in attrs if attr.name == "pg_name"), "")
                deps += [groups[name]] if name in groups else []
                groups[name] = number
            streams.setdefault(stream, []).append((begin, number))
            duration_us, exact = _duration(event.duration)
            said = (Attr("is_cpu_op", "bool", False), *exact, *attrs)
            if stream is not None:
                said = (*said, Attr("stream", "int64", stream))
            self._nodes.append(
                Node(
                    number,
                    event.name,
                    kind,
                    (self._numbers[one.id],),
                    tuple(dict.fromkeys(deps)),
                    int(event.begin),
                    duration_us,
                    _tensors(one.said.get("inputs")),
                    _tensors(one.said.get("outputs")),
                    said,
                )
            )

    def _communication(
        self, event: Event, one: _Operator, source: str
    ) -> tuple[NodeType, tuple[Attr, ...]]:
        """Return the node type and attributes of an NCCL kernel."""
        caller = self._operators.get(one.parent) if one.name == "record_param_comms" else None
        names = (one.name, caller.name) if caller else (one.name,)
        found = communication(event, one.said, one.attrs, *names)
        if found is None:
            message = f"must launch a known collective, not {event.name!r:.80}"
            raise InputError(source, f"node {one.id}", message)
        return found


def _duration(us: float) -> tuple[int, tuple[Attr, ...]]:
    """Return whole us, and an attribute with ns if the duration is not a whole number of us."""
    exact_ns = round(1000 * us)
    if not exact_ns % 1000:
        return exact_ns // 1000, ()
    return exact_ns // 1000, (Attr(DURATION_NS, "int64", exact_ns),)


def _tensors(said: Any) -> InOut | None:
    """Return tensors in the form that Chakra's converter writes."""
    tensors = mapping_of(said)
    if not tensors:
        return None
    return InOut(*(str(tensors.get(key, [])) for key in ("values", "shapes", "types")))


def _attributes(attrs: Mapping[str, Any]) -> Iterator[Attr]:
    for name in _NUMBERS:
        value = attrs.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value <= _MOST:
            yield Attr(name, "int64", value)
    if isinstance(attrs.get("op_schema"), str):
        yield Attr("op_schema", "string", attrs["op_schema"])
