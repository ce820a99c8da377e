"""Packet descriptors."""

from amaranth.lib import data

from fred_hw.spec import SwitchSpec

__all__ = ["FLOW", "descriptor_layout", "way_fields"]

FLOW = ("phase", "generation", "destination", "source")
"""Fields that identify a flow: phase and generation, or source and destination of a unicast."""


def descriptor_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of the packet properties that every flit carries.

    ``phase``, ``generation``, ``destination``, ``source``, ``sequence`` and ``length`` (place of
    the packet's last flit) are those of the header; see ``ProtocolSpec.fields``. Where sources
    choose ways, ``turned`` says that it goes the other one.
    """
    fields = spec.protocol.fields
    own = {name: fields[name] for name in (*FLOW, "sequence")}
    return data.StructLayout({**own, "length": fields["last"], **way_fields(spec)})


def way_fields(spec: SwitchSpec) -> dict[str, int]:
    """Return the fields that select a packet's route; none if addresses determine it."""
    return {} if spec.protocol.ways is None else {"turned": 1}
