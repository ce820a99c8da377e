"""Topologies by name: the published ones, any mesh, or a file."""

import re
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.files import validate
from perfmodel.switch_timing.record import PROTOCOL_MODELS, ProtocolModel

from .files import FredFile, L1Entry, MeshFile, load_topology
from .graph import Topology

__all__ = ["FABRICS", "parse_topology"]

FABRICS = ("mesh:5x4", "fred-a", "fred-b", "fred-c", "fred-d")
"""The topologies compared in the paper, the baseline first."""

# Bandwidth between an L1 and the L2 [B/s] and in-network collectives: Rashidi et al.,
# arXiv 2406.19580.
_VARIANTS = {
    "fred-a": (1.5e12, False),
    "fred-b": (1.5e12, True),
    "fred-c": (12e12, False),
    "fred-d": (12e12, True),
}
_SUFFIXES = (".yaml", ".yml", ".json")


def parse_topology(text: str, protocol: ProtocolModel | None = None) -> Topology:
    """Return the topology called ``text``.

    Parameters
    ----------
    text : str
        ``mesh:5x4`` (columns x rows), ``fred-a`` to ``fred-d``, or the path of a YAML file.
    protocol : str or None
        One of ``timing.PROTOCOL_MODELS``: what headers, CRC, acks and the link layer cost. None is
        what the file says, and ``measured`` where it or a name says nothing.

    Raises
    ------
    InputError
        It is none of these, the file is bad, or there is no such protocol.
    """
    if protocol not in (None, *PROTOCOL_MODELS):
        allowed = ", ".join(PROTOCOL_MODELS)
        raise InputError("protocol", "", f"must be one of {allowed}, not {protocol!r}")
    if text in _VARIANTS:
        return _published(text, protocol or "measured")
    size = re.fullmatch(r"mesh:([0-9]{1,9})x([0-9]{1,9})", text)
    if size:
        data = {
            "kind": "mesh",
            "columns": int(size[1]),
            "rows": int(size[2]),
            "protocol": protocol or "measured",
        }
        return validate(MeshFile, data, f"topology {text}").build(text)
    if text.endswith(_SUFFIXES):
        return load_topology(Path(text), protocol)
    names = ", ".join(_VARIANTS)
    raise InputError(
        "topology",
        "",
        f"must be mesh:COLUMNSxROWS, {names} or a path ending in .yaml, not {text!r}",
    )


def _published(name: str, protocol: ProtocolModel) -> Topology:
    """Return a variant of the paper: 20 NPUs and 18 I/O controllers on five L1 switches.

    Three L1s have 4 I/O controllers and two have 3: so the published chiplet areas add up.
    """
    l1_l2_bytes_per_s, in_network = _VARIANTS[name]
    return FredFile(
        kind="fred",
        l1=[
            L1Entry(count=3, npus=4, io_controllers=4, record="l1-12"),
            L1Entry(count=2, npus=4, io_controllers=3, record="l1-11"),
        ],
        l2_record="l2-10",
        l1_l2_bytes_per_s=l1_l2_bytes_per_s,
        in_network=in_network,
        protocol=protocol,
    ).build(name)
