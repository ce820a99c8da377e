"""Topologies by name: the published ones, any mesh, or a file."""

from functools import cache
from pathlib import Path
from typing import Any

from fred_hw.choices import find_choice, not_one_of
from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.reading import SUFFIXES
from perfmodel.published import WAFER_BANDWIDTH
from perfmodel.switch_timing import record
from perfmodel.switch_timing.record import PROTOCOL_MODELS, ProtocolModel

from .files import KINDS, load_topology
from .graph import Topology

__all__ = ["BASELINE", "FABRICS", "parse_topology", "said_of", "shared_topology", "topology_names"]

FABRICS = tuple(WAFER_BANDWIDTH)
"""The topologies compared in the paper, the baseline first."""

BASELINE = FABRICS[0]
"""The mesh with which the other topologies are compared."""


def topology_names() -> tuple[str, ...]:
    """Return the names of topologies that need no file."""
    return tuple(name for kind in KINDS.values() for name in kind.names)


def parse_topology(
    text: str, protocol: ProtocolModel | None = None, base: Path | None = None
) -> Topology:
    """Return the topology with the name or file ``text``.

    Parameters
    ----------
    text : str
        ``mesh:5x4`` (columns x rows), ``fred-a`` to ``fred-d``, another of ``topology_names()``,
        or the path of a file: YAML, an InfraGraph description, or an ns-3 topology (.txt).
    protocol : str or None
        One of ``record.PROTOCOL_MODELS``: the cost of headers, CRC, acks and the link layer. None
        takes it from the file, or ``measured`` if the file or name does not set it.
    base : Path or None
        Folder that relative paths start from; None is the working directory.

    Raises
    ------
    InputError
        There is no such topology or protocol, or the file is invalid.
    """
    if protocol not in (None, *PROTOCOL_MODELS):
        raise InputError("protocol", "", not_one_of(protocol, PROTOCOL_MODELS))
    text = find_choice(text, FABRICS) or text
    if (said := said_of(text)) is not None:
        data = {**said, "protocol": protocol or "measured"}
        return validate(KINDS[said["kind"]].file, data, f"topology {text}").build(text, base)
    if text.endswith((*SUFFIXES, ".txt")):
        return load_topology((base or Path()) / text, protocol)
    message = not_one_of(
        text,
        topology_names(),
        otherwise="or a path ending in .yaml or .txt",
        listed_by="fred estimate --help",
    )
    raise InputError("topology", "", message)


def said_of(text: str) -> dict[str, Any] | None:
    """Return the file contents that a topology name stands for; None for other texts."""
    for name, kind in KINDS.items():
        if (said := kind.read_name(text)) is not None:
            return {"kind": name, **said}
    return None


def shared_topology(
    text: str, protocol: ProtocolModel | None = None, base: Path | None = None
) -> Topology:
    """Return a topology as :func:`parse_topology`; those of ``FABRICS`` are shared.

    Cached data about its collectives is thus reused: calibration and studies request the same few
    wafers many times. So it must not be changed.
    """
    if (name := find_choice(text, FABRICS)) is None:
        return parse_topology(text, protocol, base)
    return _shared(name, protocol or "measured", record.RECORDS)


@cache
def _shared(text: str, protocol: ProtocolModel, _records: Path) -> Topology:
    """Return a published wafer with the records in a folder."""
    return parse_topology(text, protocol)
