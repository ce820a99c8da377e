"""Topology files: keys of all kinds, and the registry of kinds."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from fred_hw.file_kinds import TOPOLOGY
from fred_hw.files import FileModel, Share, number_range, one_of, read_kind, validate
from fred_hw.reading import read_data
from fred_hw.registry import Registry
from perfmodel.switch_timing.record import PROTOCOL_MODELS, ProtocolModel

from .graph import Topology

__all__ = [
    "FORMATS",
    "KINDS",
    "Kind",
    "NpuEntry",
    "Protocol",
    "Rate",
    "Time",
    "TopologyFile",
    "build_topology",
    "is_infragraph",
    "load_topology",
    "read_topology_file",
]


# Within these limits no computed time overflows or vanishes in a sum with another.
Rate = Annotated[float, number_range(1, 1e24)]
Time = Annotated[float, number_range(0, 1e6)]
Protocol = Annotated[ProtocolModel, one_of(*PROTOCOL_MODELS)]


class EfficiencyEntry(FileModel):
    """``efficiency:`` of an NPU: the fraction of the peak that each kind of operator reaches.

    Parameters
    ----------
    matmul : float
        Share for dense matrix products.
    attention : float
        Share for fused attention.
    convolution : float
        Share for convolutions.
    normalization : float
        Share for normalizations, which are limited by memory in most cases.
    elementwise : float
        Share for elementwise operators, which are limited by memory in most cases.
    embedding : float
        Share for embedding lookups, which are limited by memory in most cases.
    """

    matmul: Annotated[Share | None, Field(examples=[0.6])] = None
    attention: Annotated[Share | None, Field(examples=[0.5])] = None
    convolution: Annotated[Share | None, Field(examples=[0.6])] = None
    normalization: Annotated[Share | None, Field(examples=[0.05])] = None
    elementwise: Annotated[Share | None, Field(examples=[0.05])] = None
    embedding: Annotated[Share | None, Field(examples=[0.05])] = None


class NpuEntry(FileModel):
    """``npu:`` of a file. Missing keys have the values of an H100.

    Parameters
    ----------
    peak_flops : float
        Dense FP16 operations per second at full rate [FLOP/s]; a multiply-add counts as two.
    hbm_bytes_per_s : float
        Memory bandwidth [B/s].
    hbm_bytes : float
        Memory capacity [B].
    efficiency : EfficiencyEntry
        Share of ``peak_flops`` that each kind of operator reaches, 0.05 to 0.75 by default.
    """

    peak_flops: Rate | None = None
    hbm_bytes_per_s: Rate | None = None
    hbm_bytes: Annotated[Rate | None, Field(examples=[80e9])] = None
    efficiency: EfficiencyEntry | None = None

    @property
    def rates(self) -> dict[str, Any]:
        """The keys in the form that ``Topology.with_npu`` takes."""
        return self.model_dump(exclude_none=True)


class TopologyFile(FileModel):
    """Keys of topology files of any kind.

    Parameters
    ----------
    kind : str
        Kind of topology; it determines the other keys.
    npu : NpuEntry
        Rates and memory of each NPU.
    protocol : str
        Cost of headers, CRC, acks and the link layer: as measured in co-simulation (`measured`), or
        none (`ideal`).
    """

    file_kind = TOPOLOGY

    kind: str
    npu: NpuEntry | None = None

    @abstractmethod
    def build(self, name: str, base: Path | None = None) -> Topology:
        """Return the topology; relative paths of records are resolved from ``base``.

        Raises
        ------
        InputError
            Values do not go together, or a timing record is bad.
        """


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of topology.

    Parameters
    ----------
    file : type
        Model of a file of this kind.
    names : tuple of str
        Names for such files, as listed by the command line.
    read_name : callable
        Returns the file contents for a name, or None for other names.
    """

    file: type[TopologyFile]
    names: tuple[str, ...]
    read_name: Callable[[str], Mapping[str, object] | None]


KINDS: Registry[Kind] = Registry("perfmodel.topology", "kind of topologies")
"""Kinds of topologies by name; each module of this package registers one."""

FORMATS: Registry[Callable[[Any, str], TopologyFile]] = Registry(
    "perfmodel.topology", "format of topologies"
)
"""Readers of imported formats by name; arguments: file contents (a path for text) and a name."""


def load_topology(path: Path, protocol: ProtocolModel | None = None) -> Topology:
    """Return the topology in a YAML file or an ns-3 text file.

    Parameters
    ----------
    path : Path
        The file.
    protocol : str or None
        Protocol model, one of ``record.PROTOCOL_MODELS``; None for that of the file.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    return _built(read_topology_file(path), str(path), path.parent, protocol)


def read_topology_file(path: Path) -> TopologyFile:
    """Return the contents of a YAML file, an InfraGraph description or ns-3 text (.txt).

    Raises
    ------
    InputError
        As for :func:`load_topology`.
    """
    if path.suffix == ".txt":
        return FORMATS["ns3"](path, str(path))
    return _validated(read_data(path), str(path))


def build_topology(
    data: object, name: str, base: Path | None = None, protocol: ProtocolModel | None = None
) -> Topology:
    """Return the topology of file contents, which may be an InfraGraph description.

    Parameters
    ----------
    data : object
        Contents of the file.
    name : str
        Name of the topology, and of its source in errors.
    base : Path or None
        Folder that relative paths of records start from; None is the working directory.
    protocol : str or None
        See :func:`load_topology`.

    Raises
    ------
    InputError
        A key is unknown, missing or has a value that is not allowed.
    """
    return _built(_validated(data, name), name, base, protocol)


def _validated(data: object, name: str) -> TopologyFile:
    """Return file contents with their types checked."""
    if is_infragraph(data):
        return FORMATS["infragraph"](data, name)
    kind = KINDS[read_kind(data, KINDS, name, TOPOLOGY)]
    return validate(kind.file, data, name)


def is_infragraph(data: object) -> bool:
    """Return whether file contents are an InfraGraph description."""
    if not isinstance(data, Mapping):
        return False
    keys = cast("Mapping[object, object]", data)
    return "infrastructure" in keys or {"instances", "connections"} <= keys.keys()


def _built(
    file: TopologyFile, name: str, base: Path | None, protocol: ProtocolModel | None
) -> Topology:
    """Return the topology of a file, with its NPUs and optionally another protocol."""
    if protocol:
        file = file.model_copy(update={"protocol": protocol})
    topology = file.build(name, base)
    return topology.with_npu(file.npu.rates) if file.npu else topology
