"""Packet descriptors."""

from amaranth.lib import data

from fred_hw.spec import SwitchSpec

__all__ = ["FLOW", "descriptor_layout", "route_fields"]

FLOW = ("phase", "generation", "destination", "source")
"""Fields that identify a flow: phase and generation, or source and destination of a unicast."""


def descriptor_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of the packet properties that every flit carries.

    ``phase``, ``generation``, ``destination``, ``source``, ``sequence`` and ``length`` (place of
    the packet's last flit) are those of the header; see ``ProtocolSpec.fields``. If sources
    choose routes, ``alternate`` selects the second of two routes.
    """
    fields = spec.protocol.fields
    own = {name: fields[name] for name in (*FLOW, "sequence")}
    return data.StructLayout({**own, "length": fields["last"], **route_fields(spec)})


def route_fields(spec: SwitchSpec) -> dict[str, int]:
    """Return the fields that select a packet's route; none if addresses determine it."""
    return {} if spec.protocol.routes is None else {"alternate": 1}
