"""Resolved inputs of a point: contents of its files, with changes and defaults applied."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from fred_hw.choices import did_you_mean, find_choice
from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from fred_hw.files import FileModel, read_kind, validate
from fred_hw.reading import SUFFIXES, read_data
from perfmodel.libra.authors import load_prices
from perfmodel.libra.network import TIERS, Prices
from perfmodel.libra.topology import cost_of
from perfmodel.memory.file import MemoryFile
from perfmodel.topology import files as topologies
from perfmodel.topology.files import NpuEntry, build_topology, is_infragraph, read_topology_file
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology, said_of
from perfmodel.training.options import OPTIONS
from perfmodel.workloads import file as workloads
from perfmodel.workloads.workload import WORKLOADS, load_workload, parse_strategy, workload_path

from .axes import Value
from .contents import digest_of, flat, located, named_files
from .file import ROOTS, WHOLE
from .kind import Resolver

__all__ = [
    "PARTS",
    "SIZES",
    "ChosenOptions",
    "CombinationError",
    "Inputs",
    "Part",
    "TrainingResolver",
    "column_of",
    "identity_of",
    "options_of",
    "options_part",
    "part_of",
    "prices_of",
    "topology_of",
]

SIZES = ("mp", "dp", "pp", "cp", "ep", "sp")
"""Fields of a strategy."""

PARTS: Mapping[str, Collection[str]] = {
    "topology": ("topology",),
    "workload": ("workload",),
    "npu": ("npu",),
    "memory": ("remote_memory",),
    "strategy": ("strategy", "workload"),
    "options": tuple(OPTIONS),
    "tiers": ("tiers", "prices", "topology"),
}
"""Fields of ``Inputs``, each with the first parts of the names of the study fields that set it."""

_ROOTS = {"memory": "remote_memory"}

NO_MEMORY = "none"
"""Value for no remote memory: weights and input come from the I/O controllers."""


class CombinationError(InputError):
    """Values of a point that are valid individually but not in combination."""


@dataclass(frozen=True)
class Part:
    """A topology, a workload or another file of a point; equal parts have equal digests.

    Parameters
    ----------
    digest : str
        Of all that follows and of the files that the file names.
    name : str
        As the study file names it.
    data : mapping
        Contents of the file with changes made and defaults filled in.
    folder : str
        Where relative paths in ``data`` start.
    """

    digest: str
    name: str = field(compare=False)
    data: Mapping[str, Any] = field(compare=False)
    folder: str = field(compare=False)


@dataclass(frozen=True)
class ChosenOptions(Part):
    """The options of a point by name, as a part.

    Parameters
    ----------
    contents : mapping
        Contents of the files that values name, by option.
    """

    contents: Mapping[str, Any] = field(compare=False)


@dataclass(frozen=True)
class Inputs:
    """All inputs of a point's estimate except the version of the model.

    Parameters
    ----------
    topology, workload, npu : Part
        Where to train, what, and changes to the NPUs.
    memory : Part or None
        Remote memory.
    strategy : Strategy
        How to train in parallel.
    options : ChosenOptions
        Options of an estimate by name.
    tiers : Part or None
        Prices of each dimension of the topology, if its cost is asked for.
    """

    topology: Part
    workload: Part
    npu: Part
    memory: Part | None
    strategy: Strategy
    options: ChosenOptions
    tiers: Part | None

    def fields(self) -> dict[str, Any]:
        """Return all inputs, keyed by dotted path."""
        found: dict[str, Any] = {"topology": self.topology.name, "workload": self.workload.name}
        found |= {"remote_memory": self.memory and self.memory.name, **self.options.data}
        found |= {"tiers": self.tiers and self.tiers.name}
        found |= {"strategy": str(self.strategy), "workers": self.strategy.workers}
        found |= {size: getattr(self.strategy, size) for size in SIZES}
        for root, part in (
            ("topology", self.topology),
            ("workload", self.workload),
            ("npu", self.npu),
            ("remote_memory", self.memory),
            ("tiers", self.tiers),
        ):
            if part:
                found |= _flat(root, part)
        for name, contents in self.options.contents.items():
            found |= flat(f"{name}.file", contents)
        return found


class TrainingResolver(Resolver):
    """Resolver of the inputs of training iterations; parameters as for :class:`Resolver`."""

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self._parts = lru_cache(maxsize=1024)(self._part)
        self._options = lru_cache(maxsize=1024)(self._checked_options)
        self._prices = lru_cache(maxsize=1024)(self._tiers)

    def inputs(self, values: Mapping[str, Value]) -> Inputs:
        self.check_roots(values, ROOTS, WHOLE)
        if "prices" in values and "tiers" not in values:
            raise self.refused("tiers", "must be given with prices")
        return Inputs(**{part: self.part(part, values) for part in PARTS})

    def part(self, part: str, values: Mapping[str, Value]) -> Any:
        if part == "options":
            chosen = (values.get(name) for name in OPTIONS)
            known = zip(chosen, OPTIONS.values(), strict=True)
            return self._options(tuple(str(one.default if v is None else v) for v, one in known))
        if part == "tiers":
            if (tiers := values.get("tiers")) is None:
                return None
            topology = self.part("topology", values)
            return self._prices(tiers, values.get("prices"), topology)
        given: dict[str, Value] = {}
        for name, value in values.items():
            root, _, rest = name.partition(".")
            if root == _ROOTS.get(part, part) and value is not None:
                given[rest] = value
        if part == "strategy":
            return self._strategy(given, self.part("workload", values))
        return self._parts(
            _ROOTS.get(part, part), *sorted((key, type(one), one) for key, one in given.items())
        )

    def _checked_options(self, values: tuple[str, ...]) -> ChosenOptions:
        given = dict(zip(OPTIONS, values, strict=True))
        for name, option in OPTIONS.items():
            try:
                option.refuse_unknown(option.located(given[name], self.folder))
            except InputError as error:
                if path := option.file_in(given[name]):
                    raise self.refused_file(name, path, error) from None
                raise self.refused(name, error.message) from None
        return options_part(given, self.folder.resolve())

    def _tiers(self, tiers: Value, prices: Value, topology: Part) -> Part:
        """Return the prices of the tiers of a text such as ``package-pod``."""
        try:
            known = TIERS if prices is None else load_prices(self.folder / str(prices))
        except InputError as error:
            raise self.refused_file("prices", str(prices), error) from None
        data: dict[str, dict[str, float]] = {}
        for place, name in enumerate(str(tiers).split("-")):
            if name not in known:
                message = f"must be tiers such as {'-'.join(known)}, not {tiers!r}"
                raise self.refused("tiers", message)
            data[str(place)] = known[name]._asdict()
        part = Part(_digest(["tiers", data]), str(tiers), data, str(self.folder))
        network = topology_of(topology)
        try:
            cost_of(network, prices_of(part))
        except InputError as error:
            raise self.refused("tiers", error.message) from None
        return part

    def _part(self, root: str, *given: tuple[str, type, Value]) -> Part | None:
        changes = {key: value for key, _, value in given}
        name = changes.pop("", None)
        if root == "npu":
            if name is not None:
                raise self.refused("npu", f"must have fields such as npu.peak_flops, not {name!r}")
            data: object = {}
            folder = self.folder
        else:
            if root == "remote_memory" and name in (None, NO_MEMORY):
                if changes:
                    raise self.refused(
                        f"{root}.{next(iter(changes))}", "must have a file to change"
                    )
                return None
            name, data, folder = self._read(root, name)
        for key, value in changes.items():
            data = self._changed(root, data, key.split("."), value, key)
        try:
            return part_of(root, str(name or ""), data, folder)
        except InputError as error:
            at = error.field
            changed = next((key for key in changes if f"{at}.".startswith(f"{key}.")), None)
            if changed is None:
                raise self.refused_file(root, str(name), error) from None
            raise self.refused(f"{root}.{changed}", error.message) from None

    def _read(self, root: str, name: Value) -> tuple[str, object, Path]:
        """Return name, contents and folder of a topology, a workload or a remote memory."""
        if not isinstance(name, str):
            raise self.refused(root, f"must be a name or a file, not {name!r}")
        known = {"topology": FABRICS, "workload": WORKLOADS}.get(root, ())
        found = find_choice(name, known) or name
        if root == "topology" and (said := said_of(found)) is not None:
            return found, {"protocol": "measured", **said}, self.folder
        if found in WORKLOADS and root == "workload":
            return found, read_data(workload_path(found)), self.folder
        try:
            if name.endswith(SUFFIXES) or (root == "topology" and name.endswith(".txt")):
                data = _contents(root, self.folder / name)
                return name, data, located(self.folder, name).parent
            if root == "remote_memory":
                message = f"must be {NO_MEMORY}, or a path ending in .yaml, not {name!r}"
                raise InputError("", "", message)
            {"topology": parse_topology, "workload": load_workload}[root](name)  # refuses the name
            raise AssertionError(name)
        except InputError as error:
            raise self.refused_file(root, name, error) from None

    def _changed(self, root: str, data: object, path: Sequence[str], value: Value, key: str) -> Any:
        """Return ``data`` with the value at ``path`` replaced; integers index lists."""
        first, *rest = path
        if isinstance(data, list):
            items = cast("list[object]", data)
            if not first.isdecimal() or int(first) >= len(items):
                message = f"must have an index below {len(items)}, not {first!r}"
                raise self.refused(f"{root}.{key}", message)
            inner = self._changed(root, items[int(first)], rest, value, key) if rest else value
            return [*items[: int(first)], inner, *items[int(first) + 1 :]]
        found = cast("dict[str, object]", data) if isinstance(data, dict) else {}
        inner = self._changed(root, found.get(first), rest, value, key) if rest else value
        return {**found, first: inner}

    def _strategy(self, given: Mapping[str, Value], workload: Part) -> Strategy:
        text = given.get("", workload.data["strategy"])
        try:
            base = parse_strategy(str(text))
        except InputError as error:
            raise self.refused("strategy", error.message) from None
        sizes: dict[str, Any] = {key: value for key, value in given.items() if key}
        for key in sizes:
            if key not in SIZES:
                message = f"must be one of {', '.join(SIZES)}{did_you_mean(key, SIZES)}"
                raise self.refused(f"strategy.{key}", message)
        if not isinstance(sizes.get("sp", False), bool):
            raise self.refused("strategy.sp", f"must be true or false, not {sizes['sp']!r}")
        try:
            return Strategy(**{**{size: getattr(base, size) for size in SIZES}, **sizes})
        except (TypeError, ValueError) as error:
            message = str(error)
            for key in sizes:
                if message.startswith(f"Strategy {key} "):
                    field, message = f"strategy.{key}", message.removeprefix(f"Strategy {key} ")
                    raise self.refused(field, message) from None
            message = message.removeprefix("strategy ")
            raise CombinationError(self.source, "space.strategy", message) from None


@lru_cache(maxsize=16)  # with all that is known of its routes and collectives
def topology_of(part: Part) -> Topology:
    """Return the topology of a point."""
    return build_topology(part.data, part.name, Path(part.folder))


def prices_of(tiers: Part) -> list[Prices]:
    """Return the prices of each dimension, the innermost first."""
    return [Prices(**one) for one in tiers.data.values()]


def options_part(options: Mapping[str, str], folder: Path) -> ChosenOptions:
    """Return the part with options, whose paths start from a folder.

    Raises
    ------
    InputError
        A file that a value names is malformed.
    """
    contents: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        if option.files and (path := option.files.file_in(options[name])):
            contents[name] = _dumped(option.files.load(folder / path))
    return ChosenOptions(_digest([options, contents]), "", options, str(folder), contents)


def options_of(part: ChosenOptions) -> dict[str, str]:
    """Return the options of a point; paths in their values work from any folder."""
    folder = Path(part.folder)
    return {name: option.located(part.data[name], folder) for name, option in OPTIONS.items()}


def identity_of(part: Part | Strategy | None) -> str:
    """Return the identity of a part of a point's inputs."""
    return part.digest if isinstance(part, Part) else str(part)


def part_of(root: str, name: str, data: object, folder: Path) -> Part:
    """Return the part with given file contents, with defaults applied.

    Parameters
    ----------
    root : str
        ``topology``, ``workload``, ``npu`` or ``remote_memory``.
    name : str
        As the study file names the file.
    data : object
        Contents of the file.
    folder : Path
        Where relative paths in ``data`` start.

    Raises
    ------
    InputError
        A field is unknown, missing or out of range, or a file that ``data`` names is malformed.
    """
    checked = _validated(root, data)
    files = digest_of(named_files(checked, folder))
    return Part(_digest([root, name, checked, files]), name, checked, str(folder))


def column_of(name: str) -> str:
    """Return the column name of a study field, which is also its name in constraints."""
    return name.removeprefix("strategy.")


@lru_cache(maxsize=1024)
def _flat(root: str, part: Part) -> dict[str, Any]:
    return dict(flat(root, part.data))


def _contents(root: str, path: Path) -> object:
    """Return the contents of a file; a topology in an imported format is converted."""
    is_text = path.suffix == ".txt"
    data = None if is_text else read_data(path)
    if is_text or (root == "topology" and is_infragraph(data)):
        return _dumped(read_topology_file(path))
    return data


def _validated(root: str, data: object) -> dict[str, Any]:
    """Return the contents of a file, with defaults applied."""
    if root == "topology":
        kind = topologies.KINDS[read_kind(data, topologies.KINDS, "", topologies.TOPOLOGY)]
        model = kind.file
    elif root == "workload":
        model = workloads.KINDS[read_kind(data, workloads.KINDS, "", workloads.WORKLOAD)]
    else:
        model = NpuEntry if root == "npu" else MemoryFile
    return _dumped(validate(model, data, ""))


def _dumped(file: FileModel) -> dict[str, Any]:
    return file.model_dump(mode="json", by_alias=True, exclude_none=True)


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
