"""What stands in the queues of a switch: flits, and what is known of their packet."""

from amaranth.lib import data

from fred_hw.spec import SwitchSpec

__all__ = ["about_layout", "key_bits", "queued_layout"]


def about_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return what every flit knows of its packet.

    ``phase``, ``peer``, ``sequence`` and ``length`` (place of the packet's last flit) are those of
    the header; without the link layer there are no sequence and length.
    """
    fields = spec.protocol.fields(spec.ports)
    names = {"phase": "phase", "peer": "peer"}
    if spec.protocol.link:
        names |= {"sequence": "sequence", "length": "last"}
    return data.StructLayout({name: fields[field] for name, field in names.items()})


def queued_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return a word of an input queue: a flit, whether it begins or ends its packet, and that."""
    return data.StructLayout(
        {"first": 1, "last": 1, "about": about_layout(spec), "data": spec.data_width}
    )


def key_bits(spec: SwitchSpec) -> int:
    """Return the bits of a flow's key at a port: a phase, or the default index and a peer."""
    return (spec.protocol.phases + spec.ports - 1).bit_length()
