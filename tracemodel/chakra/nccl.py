"""NCCL kernels as trace nodes: operation, bytes and group."""

from collections.abc import Mapping
from typing import Any

from .json_files import list_of, mapping_of
from .kinds import CollectiveType, NodeType
from .kineto import Event
from .node import Attr

__all__ = ["communication"]

_COLLECTIVES: Mapping[str, CollectiveType] = {
    "allreduce": CollectiveType.ALL_REDUCE,
    "alltoall": CollectiveType.ALL_TO_ALL,
    "allgather": CollectiveType.ALL_GATHER,
    "reducescatter": CollectiveType.REDUCE_SCATTER,
    "broadcast": CollectiveType.BROADCAST,
    "barrier": CollectiveType.BARRIER,
    "reduce": CollectiveType.REDUCE,
}
"""Collectives by a substring of the operation or kernel name; the first match counts."""

_SIZES = {
    **dict.fromkeys(("double", "long", "int64", "uint64", "float64"), 8),
    **dict.fromkeys(("float", "int", "int32", "uint32", "float32"), 4),
    **dict.fromkeys(("half", "bfloat16", "short", "float16", "int16", "uint16"), 2),
    **dict.fromkeys(("byte", "char", "bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
}
"""Bytes of an element, by type name in lower case."""

_MESSAGES = {"send": NodeType.COMM_SEND_NODE, "recv": NodeType.COMM_RECV_NODE}


def communication(
    event: Event, said: Mapping[str, Any], attrs: Mapping[str, Any], *names: str
) -> tuple[NodeType, tuple[Attr, ...]] | None:
    """Return the node type and attributes of an NCCL kernel.

    None if its kind is unknown.

    Parameters
    ----------
    event : Event
        The kernel.
    said, attrs : mapping
        The operator that launched it, and that operator's attributes.
    names : str
        Names of that operator and of its callers.
    """
    what = _what(
        str(event.args.get("Collective name", "")),
        str(attrs.get("collective_name", "")),
        *names,
        event.name.replace("SendRecv", "AllToAll"),  # NCCL builds an all-to-all from these
    )
    if what is None:
        return None
    found: list[Attr] = []
    if isinstance(what, CollectiveType):
        found.append(Attr("comm_type", "int64", int(what)))
    found.append(Attr("comm_size", "int64", _size(event, said, attrs)))
    group = _group(event, said, attrs)
    found += [Attr("pg_name", "string", group)] if group else []
    for name, key in (("comm_src", "Src Rank"), ("comm_dst", "Dst Rank")):
        rank = event.args.get(key)
        if isinstance(what, NodeType) and isinstance(rank, int) and rank >= 0:
            found.append(Attr(name, "int64", rank))
    return (what if isinstance(what, NodeType) else NodeType.COMM_COLL_NODE), tuple(found)


def _what(*names: str) -> CollectiveType | NodeType | None:
    """Return the collective of the first name that identifies one."""
    for name in names:
        plain = name.replace("_", "").replace("-", "").lower()
        for known in (_COLLECTIVES, _MESSAGES):
            for part, what in known.items():
                if part in plain:
                    return what
    return None


def _size(event: Event, said: Mapping[str, Any], attrs: Mapping[str, Any]) -> int:
    """Return the input size of an operation [B], from its tensors if nothing else states it."""
    for place, key in ((event.args, "In msg nelems"), (attrs, "in_msg_nelems")):
        numbers, size = place.get(key), _SIZES.get(str(place.get("dtype")).lower())
        if isinstance(numbers, int) and numbers > 0 and size:
            return numbers * size
    inputs = mapping_of(said.get("inputs"))
    pairs = zip(list_of(inputs.get("values")), list_of(inputs.get("types")), strict=False)
    return sum(_tensor_size(value) for value, kind in pairs if "Tensor" in str(kind))


def _tensor_size(value: Any) -> int:
    """Return the size of a tensor or a list of tensors [B]."""
    parts = list_of(value)
    if len(parts) >= 5 and all(isinstance(one, int) for one in parts[:5]):
        return max(0, parts[3] * parts[4])
    return sum(map(_tensor_size, parts))


def _group(event: Event, said: Mapping[str, Any], attrs: Mapping[str, Any]) -> str:
    """Return the name of the process group, from a tuple of strings if nothing else states it."""
    for place, key in ((event.args, "Process Group Name"), (attrs, "pg_name"), (said, "pg_name")):
        if isinstance(place.get(key), str):
            return str(place[key])
    for value in list_of(mapping_of(said.get("inputs")).get("values")):
        texts = list_of(value)
        if texts and all(isinstance(text, str) for text in texts):
            return str(texts[0])
    return ""
