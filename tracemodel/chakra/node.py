"""Nodes of a trace as plain values."""

from dataclasses import dataclass

from fred_hw.errors import InputError

from .kinds import KINDS, NodeType
from .process_groups import lists_groups

__all__ = ["DURATION_NS", "Attr", "InOut", "Metadata", "Node", "Task", "Value"]

DURATION_NS = "duration_ns"
"""Attribute for the duration of a node in ns, where `duration_us` is too coarse."""

Value = int | float | bool | str | bytes
"""A single value of an attribute."""


@dataclass(frozen=True, slots=True)
class Attr:
    """An attribute, with the kind of its value, which is kept when a file is written.

    Parameters
    ----------
    name : str
        Name, such as ``comm_size``.
    kind : str
        A name of ``KINDS``: a scalar of protobuf such as ``int64``, or ``int64_list``; empty if
        there is no value.
    value : Value, tuple of Value or None
        Value of that kind; None without one.
    doc : str
        Documentation for readers.
    unknown : bytes
        Fields that the schema does not have, as encoded.
    """

    name: str
    kind: str = ""
    value: Value | tuple[Value, ...] | None = None
    doc: str = ""
    unknown: bytes = b""

    def __post_init__(self) -> None:
        if self.kind not in KINDS and (self.kind or self.value is not None):
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")


def integers(**values: int) -> tuple[Attr, ...]:
    """Return 64-bit integer attributes, given their names and values."""
    return tuple(Attr(name, "int64", int(value)) for name, value in values.items())


@dataclass(frozen=True, slots=True)
class InOut:
    """Input or output tensors of a node, described as the writer of the trace did."""

    values: str = ""
    shapes: str = ""
    types: str = ""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The first message of a file.

    Parameters
    ----------
    version : str
        Version of the schema; some writers leave it out.
    attrs : tuple of Attr
        Attributes from the writer.
    unknown : bytes
        Fields that the schema does not have, as encoded.
    """

    version: str = ""
    attrs: tuple[Attr, ...] = ()
    unknown: bytes = b""


class _Attributed:
    """Base of the classes with an id, dependencies and attributes."""

    __slots__ = ()

    id: int
    data_deps: tuple[int, ...]
    ctrl_deps: tuple[int, ...]
    attrs: tuple[Attr, ...]

    def parents(self, *, control: bool = True) -> tuple[int, ...]:
        """Return the nodes that must end before this one starts, without duplicates.

        Parameters
        ----------
        control : bool
            Whether control dependencies count, as they do in Chakra's FeederV3. The feeder before
            it takes only data dependencies into account.
        """
        if not control or not self.ctrl_deps:
            return self.data_deps
        return tuple(dict.fromkeys((*self.data_deps, *self.ctrl_deps)))

    def attr(self, name: str) -> Attr | None:
        """Return the attribute with a name, the last of several, or None."""
        for one in reversed(self.attrs):
            if one.name == name:
                return one
        return None

    def integer(self, name: str, default: int = 0, most: int | None = None) -> int:
        """Return the value of an integer attribute of any integer kind.

        Raises
        ------
        InputError
            The value is no integer, or not from 0 to ``most`` if that is given; names no source.
        """
        found = self.attr(name)
        if found is None:
            return default
        if not isinstance(found.value, int) or isinstance(found.value, bool):
            message = f"must be an integer, not {found.value!r:.60} of kind {found.kind or 'none'}"
            raise InputError("", f"node {self.id}: {name}", message)
        if most is not None and not 0 <= found.value <= most:
            message = f"must be an integer from 0 to {most}, not {found.value}"
            raise InputError("", f"node {self.id}: {name}", message)
        return found.value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return the value of a flag attribute, stored as a boolean or as 0 or 1.

        Raises
        ------
        InputError
            The value is neither; names no source.
        """
        found = self.attr(name)
        return (
            found.value
            if found and isinstance(found.value, bool)
            else bool(self.integer(name, int(default)))
        )


@dataclass(frozen=True, slots=True)
class Node(_Attributed):
    """A node of a trace: compute, memory or communication.

    Parameters
    ----------
    id : int
        Its number in the file, 0 or more.
    name : str
        Name for people to read.
    type : int
        A ``NodeType``, or the number of one that the schema does not have.
    ctrl_deps, data_deps : tuple of int
        Nodes that end before it begins.
    start_us, duration_us : int
        Start and duration of the node in the measurement [us]; 0 if not known.
    inputs, outputs : InOut or None
        Tensors.
    attrs : tuple of Attr
        Attributes in the order of the file.
    unknown : bytes
        Fields that the schema does not have, as they came.
    """

    id: int
    name: str = ""
    type: int = NodeType.INVALID_NODE
    ctrl_deps: tuple[int, ...] = ()
    data_deps: tuple[int, ...] = ()
    start_us: int = 0
    duration_us: int = 0
    inputs: InOut | None = None
    outputs: InOut | None = None
    attrs: tuple[Attr, ...] = ()
    unknown: bytes = b""

    @property
    def groups(self) -> str:
        """Process groups that the node lists in its inputs; empty if it lists none."""
        return self.inputs.values if self.inputs and lists_groups(self) else ""


@dataclass(slots=True)  # not frozen, which halves the time of creating one for each node
class Task(_Attributed):
    """The fields of a node that determine how the node runs.

    Parameters
    ----------
    id, type, data_deps, duration_us : int, int, tuple of int, int
        See ``Node``.
    attrs, ctrl_deps : tuple of Attr, tuple of int
        See ``Node``.
    groups : str
        Process groups that it lists, as the values of its inputs; empty if it lists none.
    """

    id: int
    type: int = NodeType.INVALID_NODE
    data_deps: tuple[int, ...] = ()
    duration_us: int = 0
    attrs: tuple[Attr, ...] = ()
    ctrl_deps: tuple[int, ...] = ()
    groups: str = ""
