"""Lossless conversion between schema messages and plain values."""

from functools import lru_cache
from typing import Any

from .kinds import KINDS
from .node import Attr, InOut, Metadata, Node, Task, Value
from .process_groups import lists_groups
from .schema import BadMessageError, attribute, from_bytes, has_unknown, merge, new

__all__ = [
    "MAX_ATTRS",
    "MAX_DEPS",
    "metadata_from_message",
    "metadata_to_message",
    "node_from_bytes",
    "node_to_message",
    "task_from_bytes",
]

MAX_ATTRS = 65_536
"""Largest number of attributes of a message; traces of PyTorch have about twenty."""

MAX_DEPS = 65_536
"""Largest number of dependencies of a node, of each kind."""

_KNOWN, _KNOWN_BYTES = 4096, 256
"""Number of decoded attributes in the cache, and largest size of a cached attribute [B]."""

_KIND_OF = {field: kind for kind, field in KINDS.items()}


def node_from_bytes(data: bytes) -> Node:
    """Return the node that a message encodes.

    Raises
    ------
    BadMessageError
        It encodes none, or one of more than ``MAX_ATTRS`` attributes or ``MAX_DEPS`` dependencies.
    """
    message = _packed(data)
    inputs = _in_out(message.inputs) if message.HasField("inputs") else None
    outputs = _in_out(message.outputs) if message.HasField("outputs") else None
    return Node(
        message.id,
        message.name,
        message.type,
        tuple(message.ctrl_deps),
        tuple(message.data_deps),
        message.start_time_micros,
        message.duration_micros,
        inputs,
        outputs,
        tuple([_known(one) for one in message.attr]),
        _left(message, *(name for name in ("inputs", "outputs") if message.HasField(name))),
    )


def task_from_bytes(data: bytes) -> Task:
    """Return the fields of an encoded node that determine how the node runs.

    Raises
    ------
    BadMessageError
        As for ``node_from_bytes``.
    """
    message = _packed(data)
    return Task(
        message.id,
        message.type,
        tuple(message.data_deps),
        message.duration_micros,
        tuple([_known(one) for one in message.attr]),
        tuple(message.ctrl_deps),
        groups=message.inputs.values if lists_groups(message) else "",
    )


def _packed(data: bytes) -> Any:
    """Return the node that a message encodes, with attributes still encoded as bytes."""
    message = from_bytes("PackedNode", data)
    _bound("attributes", len(message.attr), MAX_ATTRS)
    _bound("control dependencies", len(message.ctrl_deps), MAX_DEPS)
    _bound("data dependencies", len(message.data_deps), MAX_DEPS)
    return message


def _bound(what: str, count: int, most: int) -> None:
    if count > most:
        raise BadMessageError(f"{count:,} {what}, {most:,} at most")


def _known(data: bytes) -> Attr:
    """Return the attribute that some bytes encode, from a cache."""
    return _kept(data) if len(data) <= _KNOWN_BYTES else _attr(attribute(data))


@lru_cache(_KNOWN)
def _kept(data: bytes) -> Attr:
    return _attr(attribute(data))


def node_to_message(node: Node) -> Any:
    """Return the message that holds a node.

    Raises
    ------
    ValueError, TypeError
        A number is out of the range of its field, or a value is not of its kind.
    BadMessageError
        ``unknown`` is no protobuf.
    """
    message = new("Node")
    message.id, message.name, message.type = node.id, node.name, int(node.type)
    message.ctrl_deps.extend(node.ctrl_deps)
    message.data_deps.extend(node.data_deps)
    message.start_time_micros, message.duration_micros = node.start_us, node.duration_us
    for tensors, field in ((node.inputs, message.inputs), (node.outputs, message.outputs)):
        if tensors is not None:
            field.SetInParent()
            field.values, field.shapes, field.types = tensors.values, tensors.shapes, tensors.types
    _put_attrs(message, node.attrs)
    merge(message, node.unknown)
    return message


def metadata_from_message(message: Any) -> Metadata:
    """Return the metadata that a message holds.

    Raises
    ------
    BadMessageError
        The message has more than ``MAX_ATTRS`` attributes.
    """
    return Metadata(message.version, _attrs(message), _left(message))


def metadata_to_message(metadata: Metadata) -> Any:
    """Return the message that holds metadata.

    Raises
    ------
    ValueError, TypeError
        A number is out of the range of its field, or a value is not of its kind.
    """
    message = new("GlobalMetadata")
    message.version = metadata.version
    _put_attrs(message, metadata.attrs)
    merge(message, metadata.unknown)
    return message


def _attrs(message: Any) -> tuple[Attr, ...]:
    _bound("attributes", len(message.attr), MAX_ATTRS)
    return tuple(_attr(one) for one in message.attr)


def _attr(message: Any) -> Attr:
    field = message.WhichOneof("value")
    if field is None:
        return Attr(message.name, "", None, message.doc_string, _left(message))
    kind, value = _KIND_OF[field], getattr(message, field)
    if not kind.endswith("_list"):
        return Attr(message.name, kind, value, message.doc_string, _left(message))
    values: tuple[Value, ...] = tuple(value.values)
    return Attr(message.name, kind, values, message.doc_string, _left(message, field))


def _put_attrs(message: Any, attrs: tuple[Attr, ...]) -> None:
    for attr in attrs:
        one = message.attr.add(name=attr.name, doc_string=attr.doc)
        if attr.kind.endswith("_list"):
            if not isinstance(attr.value, tuple):
                raise TypeError(f"{attr.name} must be a tuple of values, not {attr.value!r:.60}")
            values = getattr(one, KINDS[attr.kind])
            values.SetInParent()
            values.values.extend(attr.value)
        elif attr.kind:
            setattr(one, KINDS[attr.kind], attr.value)
        merge(one, attr.unknown)


def _in_out(message: Any) -> InOut:
    return InOut(message.values, message.shapes, message.types)


def _left(message: Any, *inner: str) -> bytes:
    """Return the fields of a message and its submessages that the schema does not contain.

    Merged into a message that has the rest, it makes the whole again.
    """
    if not has_unknown(message) and not any(has_unknown(getattr(message, name)) for name in inner):
        return b""
    rest = type(message)()
    rest.CopyFrom(message)
    for field, value in rest.ListFields():
        if field.name in inner and has_unknown(value):
            for below, _ in value.ListFields():
                value.ClearField(below.name)
        else:
            rest.ClearField(field.name)
    return rest.SerializeToString()
