"""Points of a sweep: every combination of the lists of its file."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from fred_hw.choices import not_one_of
from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.reading import SUFFIXES, read_data
from perfmodel.memory.file import MemoryFile, load_tier
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.files import NpuEntry
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import Npu, npu_of
from perfmodel.training.compute_model import compute_model
from perfmodel.training.options import OPTIONS, Options
from perfmodel.training.request import Request
from perfmodel.workloads.workload import Workload, load_workload, parse_strategy, with_batch

from .equal_terms import equal_npus
from .strategies import batch_of, feasible
from .sweep_file import ALL, NO_TIER, SWEEP_FILE, SweepKeys

__all__ = ["MAX_POINTS", "Point", "Sweep", "load_sweep"]

MAX_POINTS = 10_000
"""Largest number of points of a sweep, about minutes of computation."""


@dataclass(frozen=True, kw_only=True)
class Point(Options):
    """A point: one value from each list, under the names in the file.

    Parameters
    ----------
    topology, workload, strategy, protocol : str
        What is estimated; the options by name are those of ``Options``.
    npu : str
        Changes to the NPUs, like ``peak_flops=2e+15``; empty without any.
    remote_memory : str
        Its file; empty without any.
    """

    topology: str
    workload: str
    strategy: str
    protocol: str
    npu: str
    remote_memory: str


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep file.

    Parameters
    ----------
    source : str
        The file.
    baseline : str
        The topology that others are compared with.
    groups : tuple of tuple of Point
        Points that are compared with each other: one for each topology.
    request : callable
        Returns the request of a point; refuses a point whose parts do not go together.
    """

    source: str
    baseline: str
    groups: tuple[tuple[Point, ...], ...]
    request: Callable[[Point], Request]


def load_sweep(path: Path) -> Sweep:
    """Return the sweep that a file describes.

    Parameters
    ----------
    path : Path
        YAML or JSON; files that it names are relative to its folder.

    Raises
    ------
    InputError
        The file, or one that it names, is bad; a name is unknown or there twice; the NPUs of
        topologies differ; or there are more than ``MAX_POINTS`` points.
    """
    source = str(path)
    file = validate(SWEEP_FILE, read_data(path), source)
    baseline = file.baseline or file.topologies[0]
    if baseline not in file.topologies:
        raise InputError(source, "baseline", not_one_of(baseline, file.topologies))
    for key in ("least_npus", "cp", "ep", "sp"):
        if file.strategies != ALL and getattr(file, key) not in (None, False):
            raise InputError(source, key, "must be given with strategies: all alone")
    _check_points(file, len(file.workloads), source)
    fabrics = _fabrics(file, path)
    _check_compute(file, fabrics, source)
    npus = _npus(file, fabrics, source)
    workloads, memories = _workloads(file, path), _memories(file, path)
    strategies = _strategies_of(file, workloads, fabrics, source)
    by_protocol = {(name, one.protocol): one for (name, _), one in fabrics.items()}

    def request(point: Point) -> Request:
        strategy, job = Strategy.parse(point.strategy), workloads[point.workload]
        if file.samples is not None:
            job = with_batch(job, file.samples, 1)
        if file.samples is not None or file.strategies == ALL:
            job = batch_of(job, strategy)
        return Request.of(
            by_protocol[point.topology, point.protocol],
            job,
            strategy,
            npu=npus[point.npu][point.topology],
            memory=memories[point.remote_memory],
            **point.options,
        )

    groups = _groups(file, strategies, fabrics, tuple(product(npus, memories)))
    return Sweep(source, baseline, tuple(groups), request)


def _groups(
    file: SweepKeys,
    strategies: Mapping[str, Sequence[Strategy]],
    fabrics: Mapping[tuple[str, ProtocolModel | None], Topology],
    means: Sequence[tuple[str, str]],
) -> Iterator[tuple[Point, ...]]:
    """Yield the groups of points that are compared with each other, by workload.

    ``means`` are rates of NPUs and remote memories.
    """
    options = [dict(zip(OPTIONS, one, strict=True)) for one in product(*_option_values(file))]
    asked = file.protocols or [None]
    for job, some in strategies.items():
        for strategy, how, protocol, (npu, memory) in product(some, options, asked, means):
            yield tuple(
                Point(
                    topology=name,
                    workload=job,
                    strategy=str(strategy),
                    protocol=fabrics[name, protocol].protocol,
                    npu=npu,
                    remote_memory=memory,
                    **how,
                )
                for name in file.topologies
            )


def _option_values(file: SweepKeys) -> list[list[str]]:
    return [file.values(option) for option in OPTIONS.values()]


def _check_points(file: SweepKeys, strategies: int, source: str) -> None:
    """Fail if there are too many points, given the number of strategies of all workloads."""
    lists = (file.topologies, *_option_values(file))
    optional = (one or [None] for one in (file.protocols, file.npus, file.memories))
    points = strategies * prod(map(len, (*lists, *optional)))
    if points > MAX_POINTS:
        message = f"must have at most {MAX_POINTS:,} points, not {points:,} or more"
        raise InputError(source, "", message)


def _text(rates: Mapping[str, Any]) -> str:
    """Return NPU rates as one line of text."""
    flat = {key: value for key, value in rates.items() if key != "efficiency"}
    flat |= {f"efficiency.{kind}": share for kind, share in rates.get("efficiency", {}).items()}
    return " ".join(f"{key}={value:.12g}" for key, value in flat.items())


@contextmanager
def _naming(source: str, field: str) -> Generator[None]:
    """Add the sweep file and the field to errors about names; other files' errors are unchanged."""
    try:
        yield
    except InputError as error:
        if error.source.endswith(SUFFIXES):
            raise
        of_a_name = f"{error.field}: " if error.source and error.field else ""
        raise InputError(source, field, of_a_name + error.message) from None


def _files(names: Sequence[str], field: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield each name of a list with its resolved form: a path next to the sweep file or itself."""
    seen: dict[Path, str] = {}
    for name in names:
        if not name.endswith(SUFFIXES):
            yield name, name
            continue
        place = path.parent / name
        try:
            there = place.resolve()
        except (ValueError, OSError, RuntimeError):  # a NUL, or a link to itself
            raise InputError(str(path), field, f"must be names of files, not {name!r}") from None
        if (first := seen.setdefault(there, name)) != name:
            message = f"must have each file once, not {first!r} and {name!r}"
            raise InputError(str(path), field, message)
        yield name, str(place)


def _fabrics(file: SweepKeys, path: Path) -> dict[tuple[str, ProtocolModel | None], Topology]:
    """Return the topologies by name, with the requested protocol."""
    found: dict[tuple[str, ProtocolModel | None], Topology] = {}
    for n, (name, text) in enumerate(_files(file.topologies, "topologies", path)):
        for protocol in file.protocols or [None]:
            with _naming(str(path), f"topologies.{n}"):
                found[name, protocol] = shared_topology(text, protocol).called(name)
    return found


def _npus(
    file: SweepKeys, fabrics: Mapping[tuple[str, ProtocolModel | None], Topology], source: str
) -> dict[str, Mapping[str, Npu]]:
    """Return the NPU of each topology, keyed by the text of the changes to it."""
    found: dict[str, Mapping[str, Npu]] = {}
    for entry in file.npus or [NpuEntry()]:
        # A topology stays the same one whatever its NPUs, so its collectives are simulated once.
        npus = {
            name: npu_of(one.with_npu(entry.rates).npu_rates) for (name, _), one in fabrics.items()
        }
        try:
            found[_text(entry.rates)] = equal_npus(npus, file.npu_from, as_is=file.as_is)
        except InputError as error:
            field = "topologies" if error.field == "topology" else error.field
            raise InputError(source, field, error.message) from None
    if len(found) < len(file.npus or [None]):
        raise InputError(source, "npus", "must have each entry once, not two that are alike")
    return found


def _workloads(file: SweepKeys, path: Path) -> dict[str, Workload]:
    found: dict[str, Workload] = {}
    for n, (name, text) in enumerate(_files(file.workloads, "workloads", path)):
        with _naming(str(path), f"workloads.{n}"):
            found[name] = replace(load_workload(text), name=name)
    return found


def _memories(file: SweepKeys, path: Path) -> dict[str, MemoryFile | None]:
    """Return the remote memories by name; whether they are large enough is checked per point."""
    found: dict[str, MemoryFile | None] = {}
    names = file.memories or [NO_TIER]
    for n, (name, text) in enumerate(_files(names, "memories", path)):
        if name == NO_TIER:
            found[""] = None
        elif name.endswith(SUFFIXES):
            found[name] = load_tier(Path(text), 1)
        else:
            message = f"must be {NO_TIER}, or a path ending in .yaml, not {name!r}"
            raise InputError(str(path), f"memories.{n}", message)
    return found


def _check_compute(
    file: SweepKeys, fabrics: Mapping[tuple[str, ProtocolModel | None], Topology], source: str
) -> None:
    """Fail if a compute model cannot compare these topologies."""
    key = OPTIONS["compute"].key
    for n, name in enumerate(file.values(OPTIONS["compute"])):
        with _naming(source, f"{key}.{n}"):
            for protocol in file.protocols or [None]:
                alike = [one for (_, asked), one in fabrics.items() if asked == protocol]
                compute_model(name).check(alike)


def _strategies_of(
    file: SweepKeys,
    workloads: Mapping[str, Workload],
    fabrics: Mapping[tuple[str, ProtocolModel | None], Topology],
    source: str,
) -> dict[str, list[Strategy]]:
    """Return the strategies of each workload."""
    if file.strategies is None:
        return {name: [job.strategy] for name, job in workloads.items()}
    if file.strategies == ALL:
        found: dict[str, list[Strategy]] = {}
        npus = min(one.npus for one in fabrics.values())
        shares = {"cp": file.cp or [1], "ep": file.ep or [1]}
        for name, job in workloads.items():
            with _naming(source, "least_npus"):
                found[name] = feasible(
                    job,
                    npus,
                    file.least_npus,
                    **shares,
                    sp=file.sp,
                    most=MAX_POINTS + 1,
                    fabrics=tuple(fabrics.values()),
                )
            if not found[name]:
                given = ", ".join(f"{key} {value}" for key, value in shares.items())
                message = f"must leave one that goes with {name}, not none with {given}"
                raise InputError(source, "strategies", message)
            _check_points(file, sum(map(len, found.values())), source)
        return found
    listed: list[Strategy] = []
    for n, text in enumerate(file.strategies):
        with _naming(source, f"strategies.{n}"):
            strategy = parse_strategy(text)
        if strategy in listed:
            message = f"must have each entry once, not {text!r} twice"
            raise InputError(source, "strategies", message)
        listed.append(strategy)
    _check_points(file, len(workloads) * len(listed), source)
    return dict.fromkeys(workloads, listed)
