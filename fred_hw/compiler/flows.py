"""Flows: input ports that are reduced, and output ports that receive the result."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import WithJsonSchema

from fred_hw.checks import check_int
from fred_hw.errors import InputError
from fred_hw.files import FileModel, validate
from fred_hw.reading import read_data

__all__ = ["Flow", "FlowEntry", "check_flows", "read_flows"]

_SIDES = ("inputs", "outputs")


@dataclass(frozen=True, order=True)
class Flow:
    """A reduction over input ports whose result goes to output ports.

    One input and one output is a unicast; a port may be on both sides.

    Parameters
    ----------
    inputs, outputs : iterable of int
        Port numbers from 0, at least one on each side, none twice; kept as sorted tuples.

    Raises
    ------
    TypeError
        A side is no iterable of integers.
    ValueError
        A side is empty, or holds a port twice or a negative one.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def __init__(self, inputs: Iterable[int], outputs: Iterable[int]) -> None:
        object.__setattr__(self, "inputs", _port_numbers("Flow inputs", inputs))
        object.__setattr__(self, "outputs", _port_numbers("Flow outputs", outputs))

    def __str__(self) -> str:
        return f"{_list_text(self.inputs)} -> {_list_text(self.outputs)}"

    def to_dict(self) -> dict[str, list[int]]:
        """Return the flow in the form that :func:`read_flows` reads."""
        return {"inputs": list(self.inputs), "outputs": list(self.outputs)}


def check_flows(flows: Iterable[Flow], ports: int) -> tuple[Flow, ...]:
    """Return ``flows`` if they can be active together, ignoring routing; fail otherwise.

    Parameters
    ----------
    flows : iterable of Flow
        Flows; their place in it is the number that messages give.
    ports : int
        Ports of the switch, 2 or more.

    Raises
    ------
    TypeError
        An element is no Flow, or ``ports`` no integer.
    ValueError
        A port is out of range, or two flows share an input or an output.
    """
    check_int("ports", ports, minimum=2)
    flows = tuple(flows)
    for index, flow in enumerate(flows):
        if not isinstance(flow, Flow):
            raise TypeError(f"flow {index} must be a Flow, not {flow!r}")
    for index, side, message in _problems(flows, ports):
        raise ValueError(f"{side} of flow {index} {message}")
    return flows


_PORTS = WithJsonSchema(
    {
        "type": "array",
        "items": {"type": "integer", "minimum": 0},
        "minItems": 1,
        "uniqueItems": True,
    }
)


class FlowEntry(FileModel):
    """One element of a flow file; its ports are checked like those of a Flow.

    Parameters
    ----------
    inputs : list of int
        Input ports whose operands are reduced, numbers from 0 below `ports`, each once.
    outputs : list of int
        Output ports that get the result, numbers from 0 below `ports`, each once.
    """

    inputs: Annotated[Any, _PORTS]
    outputs: Annotated[Any, _PORTS]


def read_flows(path: Path, ports: int) -> tuple[Flow, ...]:
    """Read a YAML or JSON list of ``{inputs: [...], outputs: [...]}``.

    The list may also be the value of a single key ``flows``.

    Parameters
    ----------
    path : Path
        File to read.
    ports : int
        Ports of the switch that the flows are for.

    Raises
    ------
    InputError
        The file is unreadable, or a flow is malformed, out of range, or overlaps an earlier one;
        its field is like ``2.inputs``, or ``flows.2.inputs`` in a file with that key.
    """
    data, source, prefix = read_data(path), str(path), ""
    if isinstance(data, Mapping) and "flows" in data:
        if len(data) > 1:
            unknown = next(str(key) for key in data if key != "flows")
            raise InputError(source, unknown, "unknown key; allowed are flows")
        data, prefix = data["flows"], "flows."
    if not isinstance(data, list):
        raise InputError(source, prefix.rstrip("."), f"must be a list of flows, not {data!r:.60}")
    flows = tuple(_read_flow(entry, source, f"{prefix}{n}") for n, entry in enumerate(data))
    for index, side, message in _problems(flows, ports):
        raise InputError(source, f"{prefix}{index}.{side}", message)
    return flows


def _read_flow(data: object, source: str, field: str) -> Flow:
    try:
        entry = validate(FlowEntry, data, source)
    except InputError as error:
        inner = f"{field}.{error.field}" if error.field else field
        raise InputError(source, inner, error.message) from None
    for side in _SIDES:
        try:
            _port_numbers("", getattr(entry, side))
        except (TypeError, ValueError) as error:
            raise InputError(source, f"{field}.{side}", str(error)) from None
    return Flow(entry.inputs, entry.outputs)


def _port_numbers(what: str, ports: object) -> tuple[int, ...]:
    """Return ``ports`` as a sorted tuple; ``what`` begins the error messages."""
    if isinstance(ports, str | bytes | Mapping) or not isinstance(ports, Iterable):
        raise TypeError(f"{what} must be a list of port numbers, not {ports!r:.60}")
    numbers = tuple(ports)
    for port in numbers:
        if isinstance(port, bool) or not isinstance(port, int):
            raise TypeError(f"{what} must be port numbers, not {port!r:.60}")
        if port < 0:
            raise ValueError(f"{what} must be port numbers from 0, not {port}")
    if not numbers:
        raise ValueError(f"{what} must be at least one port, not none")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{what} must be different ports, not {list(numbers)}")
    return tuple(sorted(numbers))


def _problems(flows: tuple[Flow, ...], ports: int) -> Iterator[tuple[int, str, str]]:
    """Yield index, side and message of each reason why ``flows`` cannot be active together."""
    users: dict[str, dict[int, int]] = {side: {} for side in _SIDES}
    for index, flow in enumerate(flows):
        for side in _SIDES:
            for port in getattr(flow, side):
                if port >= ports:
                    yield index, side, f"must be ports from 0 to {ports - 1}, not {port}"
                user = users[side].setdefault(port, index)
                if user != index:
                    allowed = f"must be disjoint from those of flow {user}"
                    yield index, side, f"{allowed}, not share port {port}"


def _list_text(ports: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, ports)) + "]"
