"""The file formats of the public LIBRA code (github.com/astra-sim/libra).

They are defined elsewhere, so `fred schema` does not contain them.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, prod
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.files import (
    in_range,
    int_range,
    load_model,
    name_in,
    number_range,
    parse_number,
    validate,
)
from fred_hw.reading import read_data, read_text

from .network import Dimension, Prices
from .workload import COLLECTIVES, Workload, summed

__all__ = [
    "MAX_NPUS",
    "load_communicator",
    "load_network",
    "load_prices",
    "load_workload",
    "with_prices",
]

MAX_NPUS = 1 << 20
"""Largest number of NPUs of a network."""

_FIELDS = 12
_PHASES = {"Forward": 2, "InputGrad": 5, "WeightGrad": 8}
"""Index of each phase's compute-time field; the collective and its size follow."""

_KINDS = {one.replace("_", "").upper(): one for one in COLLECTIVES}
_BLOCKS = {"Ring": "ring", "FullyConnected": "fully_connected", "Switch": "switch"}
_MAX_BYTES = 1 << 22
_LARGEST = 1e30

Groups = Mapping[str, tuple[int, ...]]
"""NPUs per dimension that a collective of each phase spans, 1 for an unused dimension."""

_Price = Annotated[float, number_range(0, 1e12)]


class _Network(BaseModel, frozen=True, extra="forbid", strict=True):
    """A network file: the dimensions, the innermost first.

    Parameters
    ----------
    blocks : list of str
        Block of each dimension.
    npus : list of int
        NPUs in a line along each dimension.
    tiers : list of str
        Entry of the price file of each dimension.
    """

    blocks: Annotated[
        list[Annotated[str, name_in(_BLOCKS)]],
        Field(alias="Topology", min_length=1, max_length=8),
    ]
    npus: Annotated[list[Annotated[int, int_range(1, MAX_NPUS)]], Field(alias="NpusCount")]
    tiers: Annotated[list[str], Field(alias="CostDimension")]


class _Prices(BaseModel, frozen=True, extra="forbid", strict=True):
    """Prices of a tier of the network [$ per GB/s].

    Parameters
    ----------
    link, switch, nic : float
        Price of a link, of a port of a switch and of a network interface.
    """

    link: Annotated[_Price, Field(alias="Link")]
    switch: Annotated[_Price, Field(alias="Switch")] = 0.0
    nic: Annotated[_Price, Field(alias="Nic")] = 0.0


def load_network(path: Path) -> tuple[tuple[Dimension, ...], tuple[str, ...]]:
    """Return the dimensions of a network without prices, and the price tier of each.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    found, source = load_model(_Network, path), str(path)
    count = len(found.blocks)
    for name, length in (("NpusCount", len(found.npus)), ("CostDimension", len(found.tiers))):
        if length != count:
            message = f"must have {count} entries, as Topology has, not {length}"
            raise InputError(source, name, message)
    if (npus := prod(found.npus)) > MAX_NPUS:
        message = f"must have at most {MAX_NPUS} NPUs in all, not {npus}"
        raise InputError(source, "NpusCount", message)
    pairs = zip(found.blocks, found.npus, strict=True)
    return tuple(Dimension(_BLOCKS[block], npus) for block, npus in pairs), (*found.tiers,)


def load_prices(path: Path) -> dict[str, Prices]:
    """Return the prices of each tier in a file.

    Raises
    ------
    InputError
        The file is unreadable, or has a price that is not allowed.
    """
    source = str(path)
    found: dict[str, Prices] = {}
    for tier, data in _mapping(read_data(path), source, "tiers to prices").items():
        try:
            given = validate(_Prices, data, source)
        except InputError as error:
            field = f"{tier}.{error.field}" if error.field else tier
            raise InputError(source, field, error.message) from None
        found[tier] = Prices(given.link, given.switch, given.nic)
    return found


def with_prices(
    dimensions: Sequence[Dimension], tiers: Sequence[str], path: Path
) -> tuple[Dimension, ...]:
    """Return the dimensions with the prices from a file.

    Raises
    ------
    InputError
        The file is unreadable, lacks the tier of a dimension, or has a price that is not allowed.
    """
    given = load_prices(path)
    for tier in tiers:
        if tier not in given:
            raise InputError(str(path), tier, "is required by the network and was not given")
    pairs = zip(dimensions, tiers, strict=True)
    return tuple(Dimension.priced(one.block, one.npus, given[tier]) for one, tier in pairs)


def _mapping(data: object, source: str, what: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise InputError(source, "", f"must be a mapping of {what}, not {data!r:.60}")
    return {str(key): value for key, value in cast("Mapping[Any, Any]", data).items()}


def load_communicator(path: Path, dimensions: Sequence[Dimension]) -> Groups:
    """Return the communicator groups of each phase.

    Raises
    ------
    InputError
        The file is unreadable, lacks a phase, or has a group that the network does not.
    """
    source = str(path)
    given = _mapping(read_data(path), source, "phases to groups")
    for name in given:
        if name not in _PHASES:
            raise InputError(source, str(name), not_one_of(name, _PHASES))
    found: dict[str, tuple[int, ...]] = {}
    for phase in _PHASES:
        groups = given.get(phase)
        if not isinstance(groups, list) or len(cast("list[Any]", groups)) != len(dimensions):
            message = (
                f"must list {len(dimensions)} groups, one for each dimension, not {groups!r:.60}"
            )
            raise InputError(source, phase, message)
        sizes: list[int] = []
        pairs = zip(dimensions, cast("list[Any]", groups), strict=True)
        for place, (one, size) in enumerate(pairs):
            field = f"{phase}.{place}"
            sizes.append(1 if size == -1 else _checked(size, one.npus, source, field))
        found[phase] = tuple(sizes)
    return found


def _checked(value: object, maximum: int, source: str, field: str) -> int:
    try:
        return cast("int", in_range(value, 1, maximum, "-1 or "))
    except ValueError as error:
        raise InputError(source, field, str(error)) from None


def load_workload(path: Path, groups: Groups, weight: float = 1.0) -> Workload:
    """Return the workload of a file with one layer of 12 fields per line.

    Raises
    ------
    InputError
        The file is unreadable, or a line is bad; names the line.
    """
    compute_ns, found = 0.0, list[tuple[str, float, tuple[int, ...]]]()
    text = read_text(path, _MAX_BYTES)
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        source, where = str(path), f"line {number}"
        if len(fields) != _FIELDS:
            raise InputError(source, where, f"must have {_FIELDS} fields, not {len(fields)}")
        for phase, (time_ns, kind, size) in _phases(fields, source, where):
            compute_ns += time_ns
            if kind is not None:
                found.append((kind, size, groups[phase]))
    if not compute_ns and not found:
        raise InputError(str(path), "", "must have a layer with compute or a collective, not none")
    return Workload(path.stem, compute_ns * 1e-9, summed(found), weight)


def _phases(
    fields: Sequence[str], source: str, where: str
) -> Iterator[tuple[str, tuple[float, str | None, float]]]:
    """Yield each phase of a layer: compute [ns], collective or None, and size [B]."""
    for phase, first in _PHASES.items():
        numbers: list[float] = []
        for place in (first, first + 2):
            number = parse_number(fields[place])
            if number is None or not isfinite(number) or not 0 <= number <= _LARGEST:
                message = f"must be a number from 0 to {_LARGEST:g}, not {fields[place]!r:.60}"
                raise InputError(source, f"{where}, field {place + 1}", message)
            numbers.append(number)
        kind = fields[first + 1]
        if kind != "NONE" and kind not in _KINDS:
            message = not_one_of(kind, ("NONE", *_KINDS))
            raise InputError(source, f"{where}, field {first + 2}", message)
        yield phase, (numbers[0], _KINDS.get(kind), numbers[1])
