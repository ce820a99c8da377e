"""Network files of ASTRA-sim: ``topology``, ``npus_count``, ``bandwidth`` and ``latency``."""

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from fred_hw.choices import find_choice, not_one_of
from fred_hw.errors import InputError
from fred_hw.file_kinds import NETWORK
from fred_hw.files import Check, FileModel, int_range, number_range, validate
from fred_hw.reading import SUFFIXES, read_data
from perfmodel.topology.block import BlockKind
from tracemodel.astra.fluid.lines import BlockLine, Line
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network

if TYPE_CHECKING:
    from perfmodel.switch_timing.record import ProtocolModel
    from perfmodel.topology.graph import Topology

__all__ = ["MAX_NPUS", "NetworkFile", "is_network", "load_network", "read_network"]

MAX_NPUS = 1 << 16

_KINDS: dict[str, BlockKind] = {
    "Ring": "ring",
    "FullyConnected": "fully_connected",
    "Switch": "switch",
}


def _or_null(minimum: float, maximum: float) -> Check:
    number = number_range(minimum, maximum)

    def check(value: object) -> object:
        return value if value is None else number.func(value)  # type: ignore[call-arg, arg-type]

    return Check(check, schema=lambda: {"anyOf": [number.schema(), {"type": "null"}]})


def _kind() -> Check:
    """Return the check of a topology entry; its JSON Schema cannot say which files exist."""

    def schema() -> dict[str, Any]:
        from perfmodel.topology.parse import topology_names

        # Parts of a name that the user chooses are in capitals, as in mesh:COLUMNSxROWS.
        names = (re.sub("[A-Z].*", ".+", name) for name in topology_names())
        fabric = rf"^({'|'.join(names)}|.+\.({'|'.join(one[1:] for one in (*SUFFIXES, '.txt'))}))$"
        kinds = "|".join("".join(f"[{c.upper()}{c.lower()}]" for c in kind) for kind in _KINDS)
        choices = [{"enum": [*_KINDS]}, {"pattern": f"^({kinds})$"}, {"pattern": fabric}]
        return {"type": "string", "anyOf": choices}

    return Check(lambda value: find_choice(value, _KINDS) or value, schema=schema)


class NetworkFile(FileModel):
    """Four lists with one entry for each dimension, the innermost first.

    Parameters
    ----------
    topology : list of str
        Connection of the NPUs of each line along a dimension: `Ring`, `FullyConnected`, `Switch`;
        or in the model ``fluid`` a built-in fabric, such as `fred-d`, `mesh:5x4` or a topology
        file.
    npus_count : list of int
        NPUs in a line, or all NPUs of a fabric; at most 65536 in total.
    bandwidth : list of float
        Bandwidth of each link in one direction [2^30 B/s]; null for a fabric, which has its own.
    latency : list of float
        Latency of each link [ns]; counted twice through a switch. Null for a fabric.
    """

    file_kind = NETWORK

    topology: Annotated[list[Annotated[str, _kind()]], Field(min_length=1)]
    npus_count: list[Annotated[int, int_range(2, MAX_NPUS)]]
    bandwidth: list[Annotated[float | None, _or_null(1e-6, 1e12)]]
    latency: list[Annotated[float | None, _or_null(0, 1e12)]]

    def network(
        self,
        source: str,
        base: Path | None = None,
        protocol: "ProtocolModel | None" = None,
        algorithm: str = "published",
    ) -> Network | FluidNetwork:
        """Return the network that the file describes.

        Parameters
        ----------
        source : str
            The file, for errors.
        base : Path or None
            Folder from which relative paths of topology files start.
        protocol, algorithm : str
            Protocol and algorithm of built-in fabrics, see ``parse_topology`` and
            ``run_collective``.

        Raises
        ------
        InputError
            The lists are not equally long, there are too many NPUs, or a fabric is unknown.
        """
        count = len(self.topology)
        for field in ("npus_count", "bandwidth", "latency"):
            if len(getattr(self, field)) != count:
                message = (
                    f"must have as many entries as topology, {count}, "
                    f"not {len(getattr(self, field))}"
                )
                raise InputError(source, field, message)
        if prod(self.npus_count) > MAX_NPUS:
            message = f"must be at most {MAX_NPUS} NPUs in all, not {prod(self.npus_count)}"
            raise InputError(source, "npus_count", message)
        if all(kind in _KINDS for kind in self.topology):
            return Network([self._dimension(source, number) for number in range(count)])
        lines: list[Line] = []
        for number, kind in enumerate(self.topology):
            if kind in _KINDS:
                lines.append(BlockLine(self._dimension(source, number)))
            else:
                fabric = _fabric(kind, source, f"topology.{number}", base, protocol)
                self._check_fabric(source, number, fabric)
                lines.append(_line(fabric, algorithm))
        return FluidNetwork(lines)

    def _dimension(self, source: str, number: int) -> Dimension:
        rates: list[float] = []
        for field in ("bandwidth", "latency"):
            value: float | None = getattr(self, field)[number]
            if value is None:
                message = f"must be a number for {self.topology[number]}, not null"
                raise InputError(source, f"{field}.{number}", message)
            rates.append(value)
        return Dimension(_KINDS[self.topology[number]], self.npus_count[number], *rates)

    def _check_fabric(self, source: str, number: int, fabric: "Topology") -> None:
        """Fail unless the other lists agree with a built-in fabric."""
        npus = self.npus_count[number]
        if npus != fabric.npus:
            message = f"must be {fabric.npus}, the number of NPUs of {fabric.name}, not {npus}"
            raise InputError(source, f"npus_count.{number}", message)
        for field in ("bandwidth", "latency"):
            value: float | None = getattr(self, field)[number]
            if value is not None:
                message = f"must be null, because {fabric.name} has its own, not {value:g}"
                raise InputError(source, f"{field}.{number}", message)


def _fabric(
    text: str, source: str, field: str, base: Path | None, protocol: "ProtocolModel | None"
) -> "Topology":
    """Return a built-in fabric, given its name or file."""
    from perfmodel.topology.parse import parse_topology, topology_names

    if text.endswith((*SUFFIXES, ".txt")):
        return parse_topology(text, protocol, base)
    try:
        return parse_topology(text, protocol)
    except InputError as error:
        if error.source != "topology":  # of a known kind, but invalid
            raise InputError(source, field, f"{error.field}: {error.message}") from None
    names = (*_KINDS, *topology_names())
    message = not_one_of(
        text, names, otherwise="or a path ending in .yaml", listed_by="fred schema astra-network"
    )
    raise InputError(source, field, message)


def _line(fabric: "Topology", algorithm: str) -> Line:
    # The simulation of collectives is slow to import.
    from tracemodel.astra.fluid.fabric import FabricLine

    return FabricLine(fabric, algorithm)


def _has(data: Any, key: str) -> bool:
    return isinstance(data, Mapping) and key in data


def is_network(data: object) -> bool:
    """Return whether file contents are a network of ASTRA-sim, not a built-in kind."""
    return _has(data, "npus_count")


def load_network(
    name: str | Path,
    protocol: "ProtocolModel | None" = None,
    algorithm: str = "published",
    base: Path | None = None,
) -> Network | FluidNetwork:
    """Return the network of a YAML or JSON file (by its ending), or a built-in fabric.

    Parameters
    ----------
    name : str or Path
        A network file of ASTRA-sim, a topology file, or what ``parse_topology`` takes.
    protocol, algorithm : str
        Protocol and algorithm of built-in fabrics.
    base : Path or None
        Folder that relative paths start from; None is the working directory.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    from perfmodel.topology.files import is_infragraph, load_topology
    from perfmodel.topology.parse import said_of, shared_topology, topology_names

    text = str(name)
    if said_of(text) is not None:
        return FluidNetwork([_line(shared_topology(text, protocol, base), algorithm)])
    path = (base or Path()) / text
    if not text.endswith(SUFFIXES) and not path.exists():
        known = ", ".join(topology_names())
        raise InputError(text, "", f"must be an existing file or one of {known}")
    data: Any = {} if path.suffix == ".txt" else read_data(path)
    ours = path.suffix == ".txt" or _has(data, "kind") or is_infragraph(data)
    if ours and not is_network(data):
        return FluidNetwork([_line(load_topology(path, protocol), algorithm)])
    source = str(path)
    return validate(NetworkFile, data, source).network(source, path.parent, protocol, algorithm)


def read_network(path: Path) -> Network | FluidNetwork:
    """Return the network of a file in ASTRA-sim's form; errors as for ``load_network``."""
    return validate(NetworkFile, read_data(path), str(path)).network(str(path), path.parent)
