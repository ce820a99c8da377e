"""Packet descriptors."""

from amaranth.lib import data

from fred_hw.spec import SwitchSpec

__all__ = ["FLOW", "descriptor_layout", "way_fields"]

FLOW = ("phase", "generation", "destination", "source")
"""What tells flows apart: the latter two are those of a unicast, the second is that of a phase."""


def descriptor_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return what every flit knows of its packet.

    ``phase``, ``generation``, ``destination``, ``source``, ``sequence`` and ``length`` (place of
    the packet's last flit) are those of the header; see ``ProtocolSpec.fields``. Where sources
    choose ways, ``turned`` says that it goes the other one.
    """
    fields = spec.protocol.fields
    own = {name: fields[name] for name in (*FLOW, "sequence")}
    return data.StructLayout({**own, "length": fields["last"], **way_fields(spec)})


def way_fields(spec: SwitchSpec) -> dict[str, int]:
    """Return the fields that select a packet's route; none where addresses do."""
    return {} if spec.protocol.ways is None else {"turned": 1}
