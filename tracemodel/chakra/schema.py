"""Messages of Chakra's schema 0.0.4, built from one table at import.

Field numbers and names are those of MLCommons Chakra (github mlcommons/chakra, the schema
``et_def.proto``). No code is generated and no compiler of schemas is needed.
"""

# pyright: basic

import re
from typing import Any

from google.protobuf import descriptor_pb2, json_format, message_factory, unknown_fields
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from .kinds import KINDS, SCALARS, NodeType

__all__ = [
    "BadMessageError",
    "attribute",
    "from_bytes",
    "from_json",
    "has_unknown",
    "merge",
    "new",
    "to_json",
]

MESSAGES = {
    "GlobalMetadata": ("string version = 1", "repeated AttributeProto attr = 2"),
    "Node": (
        "uint64 id = 1",
        "string name = 2",
        "NodeType type = 3",
        "repeated uint64 ctrl_deps = 4",
        "repeated uint64 data_deps = 5",
        "uint64 start_time_micros = 6",
        "uint64 duration_micros = 7",
        "IOInfo inputs = 8",
        "IOInfo outputs = 9",
        "repeated AttributeProto attr = 10",
    ),
    "IOInfo": ("string values = 1", "string shapes = 2", "string types = 3"),
    "AttributeProto": (
        "string name = 1",
        "string doc_string = 2",
        *(f"{name} {name}_val = {number}" for name, number in SCALARS.items()),
        *(f"{name}List {name}_list = {number + 1}" for name, number in SCALARS.items()),
    ),
    **{f"{name}List": (f"repeated {name} values = 1",) for name in SCALARS},
}
# A node with its attributes unparsed, as the same attributes repeat from node to node.
MESSAGES["PackedNode"] = (*MESSAGES["Node"][:-1], "repeated bytes attr = 10")
"""Fields of each message in schema notation; the values of an attribute exclude each other."""

_PACKAGE = "ChakraProtoMsg"
_ONE_OF = frozenset(KINDS.values())


class BadMessageError(Exception):
    """Bytes that are not a valid message; the text is the reason."""


def _describe() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="et_def.proto", package=_PACKAGE, syntax="proto3"
    )
    types = file.enum_type.add(name="NodeType")
    for one in NodeType:
        types.value.add(name=one.name, number=one.value)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
        for text in fields:
            _add_field(message, *text.split())
    return file


def _add_field(message: descriptor_pb2.DescriptorProto, *words: str) -> None:
    *label, kind, name, _, number = words
    field = message.field.add(name=name, number=int(number))
    field.label = field.LABEL_REPEATED if label else field.LABEL_OPTIONAL
    if kind in SCALARS:
        field.type = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
    else:
        field.type = field.TYPE_ENUM if kind == "NodeType" else field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"
    if name in _ONE_OF:
        field.oneof_index = 0


_POOL = DescriptorPool()  # a separate pool, so that a program may import Chakra's package too
_POOL.Add(_describe())
_CLASSES = {
    name: message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
    for name in ("GlobalMetadata", "Node", "PackedNode", "AttributeProto")
}


def new(name: str) -> Any:
    """Return an empty message: ``GlobalMetadata`` or ``Node``."""
    return _CLASSES[name]()


def from_bytes(name: str, data: bytes) -> Any:
    """Return the message encoded in ``data``; a ``PackedNode`` is a node with raw attributes.

    Raises
    ------
    BadMessageError
        ``data`` does not encode a message of that name.
    """
    try:
        return _CLASSES[name].FromString(data)
    except DecodeError:
        raise BadMessageError("not valid protobuf") from None


def attribute(data: bytes) -> Any:
    """Return the attribute encoded in ``data``.

    Raises
    ------
    BadMessageError
        ``data`` does not encode an attribute.
    """
    return from_bytes("AttributeProto", data)


def merge(message: Any, data: bytes) -> None:
    """Add the fields encoded in ``data`` to a message.

    Raises
    ------
    BadMessageError
        ``data`` does not encode fields of the message.
    """
    if data:
        try:
            message.MergeFromString(data)
        except DecodeError:
            raise BadMessageError("unknown fields that are not valid protobuf") from None


def from_json(name: str, data: dict[str, Any]) -> Any:
    """Return the message of a JSON object, in the JSON mapping of protobuf.

    Raises
    ------
    BadMessageError
        ``data`` is not such a message.
    """
    try:
        return json_format.ParseDict(data, _CLASSES[name]())
    except json_format.ParseError as error:
        unknown = re.search(r'has no field named "(.*?)"', str(error))
        raise BadMessageError(
            f"the unknown key {unknown[1]!r}" if unknown else str(error)
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise BadMessageError(f"a value does not fit its field: {error}") from None


def to_json(message: Any) -> dict[str, Any]:
    """Return a message in the JSON mapping of protobuf, without fields of default value."""
    return json_format.MessageToDict(message)


def has_unknown(message: Any) -> bool:
    """Return whether a message itself has fields that the schema does not contain."""
    return len(unknown_fields.UnknownFieldSet(message)) > 0
