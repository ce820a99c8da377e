"""Points that are runs of execution traces: what their inputs come to, and their figures."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from fred_hw.choices import find_choice
from fred_hw.errors import InputError
from fred_hw.files import load_model
from fred_hw.reading import SUFFIXES, read_data
from perfmodel.topology.parse import FABRICS, parse_topology, said_of
from tracemodel.api import Inputs, SystemFile, estimate_traces, find_traces
from tracemodel.names import NETWORK_MODELS

from .axes import Value
from .contents import digest_of, named_files
from .file import TRACE_FIGURES, TRACE_ROOTS
from .kind import Comparison, Kind, Resolver, Row

__all__ = ["TRACES"]

_MAX_QUEUES = 1024


@dataclass(frozen=True)
class _File:
    """A file, a set of traces or the name of a fabric; equal contents have equal digests.

    Parameters
    ----------
    digest : str
        Of the contents, with those of all files that they name.
    name : str
        As the study file names it.
    folder : Path
        Where relative paths start, also of files in the names of fabrics.
    """

    digest: str
    name: str = field(compare=False)
    folder: Path = field(compare=False)

    @property
    def path(self) -> Path:
        """Path of the file, or prefix of the traces."""
        return self.folder / self.name


@dataclass(frozen=True)
class _Inputs:
    """All that a run depends on, but for the version of the model.

    Parameters
    ----------
    traces, network, system : _File
        What runs, where, and how.
    remote_memory, groups : _File or None
        Remote memory and communicator groups.
    network_model : str
        One of ``NETWORK_MODELS``.
    num_queues_per_dim : int
        Queues of each dimension of networks of ASTRA-sim.
    """

    traces: _File
    network: _File
    system: _File
    remote_memory: _File | None
    groups: _File | None
    network_model: str
    num_queues_per_dim: int


class _Resolver(Resolver):
    """Resolver of the inputs of runs; parameters as for :class:`Resolver`."""

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self._file = lru_cache(maxsize=1024)(self._read)

    def inputs(self, values: Mapping[str, Value]) -> _Inputs:
        self.check_roots(values, TRACE_ROOTS, TRACE_ROOTS)
        return _Inputs(**{name: self.part(name, values) for name in TRACE_ROOTS})

    def part(self, part: str, values: Mapping[str, Value]) -> Any:
        value = values.get(part)
        if part == "network_model":
            return self.choice(part, "fluid" if value is None else str(value), NETWORK_MODELS)
        if part == "num_queues_per_dim":
            return self.integer(part, 1 if value is None else value, 1, _MAX_QUEUES)
        if value is None and part in ("remote_memory", "groups"):
            return None
        if not isinstance(value, str):
            raise self.refused(part, f"must be a name or a file, not {value!r}")
        return self._file(part, value)

    def _read(self, part: str, name: str) -> _File:
        path = self.folder / name
        try:
            if part == "traces":
                return _File(digest_of(find_traces(path)), name, self.folder)
            if part == "network":
                return self._network(name)
            custom = _custom_files(path, self.folder) if part == "system" else ()
            return self._with_files(name, read_data(path), custom)
        except InputError as error:
            raise self.refused_file(part, name, error) from None

    def _network(self, name: str) -> _File:
        found = find_choice(name, FABRICS) or name
        if (said := said_of(found)) is not None:
            files = digest_of(named_files(said, self.folder))
            return _File(f"{found} {files}", found, self.folder)
        if name.endswith(SUFFIXES):
            return self._with_files(name, read_data(self.folder / name))
        parse_topology(name, base=self.folder)  # refuses all but files of ns-3, which name none
        return self._with_files(name, None)

    def _with_files(self, name: str, data: object, more: Iterable[Path] = ()) -> _File:
        """Return a file, given its contents, with the files that they name, and more files."""
        path = self.folder / name
        digest = digest_of((path, *named_files(data, path.parent), *more))
        return _File(digest, name, self.folder)


def _custom_files(path: Path, folder: Path) -> list[Path]:
    """Return the files of custom collectives of a system file, whose paths start from a folder.

    There are none if one of them or the system is bad: the evaluation of the point reports that.
    """
    try:
        system = load_model(SystemFile, path)
        system.find_custom(str(path), folder)
    except InputError:
        return []
    return system.custom_files


def _identity(part: _File | str | int | None) -> str:
    return part.digest if isinstance(part, _File) else str(part)


def _derived(inputs: _Inputs) -> dict[str, Any]:
    parts = {one.name: getattr(inputs, one.name) for one in fields(inputs)}
    return {name: one.name if isinstance(one, _File) else one for name, one in parts.items()}


def _evaluate(inputs: _Inputs) -> Row:
    """Return where the time of the rank that ends last goes."""
    memory, groups = inputs.remote_memory, inputs.groups
    given = Inputs(
        inputs.system.path,
        memory.path if memory else None,
        (groups.path,) if groups else (),
        inputs.network_model,
        queues=inputs.num_queues_per_dim,
        base=inputs.network.folder,
    )
    [found] = estimate_traces(str(inputs.traces.path), [inputs.network.name], given)
    last = max(found.ranks, key=lambda rank: rank.total_ns)
    return {**asdict(last), "records": "; ".join(found.provenance.said_records)}


TRACES = Kind(
    required=("traces", "network", "system"),
    parts={name: (name,) for name in TRACE_ROOTS},
    figures=TRACE_FIGURES,
    resolver=_Resolver,
    derived=_derived,
    evaluate=_evaluate,
    identity=_identity,
    comparison=Comparison("network", "total_ns"),
)
