"""What is known of a packet: its descriptor, and the key of its flow."""

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from fred_hw.spec import SwitchSpec

__all__ = ["descriptor_layout", "flow_key", "key_bits", "same_flow"]


def descriptor_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return what every flit knows of its packet.

    ``phase``, ``peer``, ``sequence``, ``length`` (place of the packet's last flit) and
    ``generation`` are those of the header.
    """
    fields = spec.protocol.fields(spec.ports)
    own = {name: fields[name] for name in ("phase", "peer", "sequence")}
    return data.StructLayout({**own, "length": fields["last"], "generation": fields["generation"]})


def key_bits(spec: SwitchSpec) -> int:
    """Return the bits of a flow's key at a port; see ``flow_key``."""
    return (spec.protocol.phases + spec.ports - 1).bit_length()


def flow_key(spec: SwitchSpec, phase: Value, peer: Value) -> Value:
    """Return the key of a flow at a port: its phase, or at the default index that and the peer."""
    online = spec.protocol.online
    return Mux(phase == online, online + peer, phase)


def same_flow(
    spec: SwitchSpec, phase: Value, peer: Value, other: Value, other_peer: Value
) -> Value:
    """Return whether a phase and peer name the same flow as others; see docs/protocol.md."""
    return (phase == other) & ((phase != spec.protocol.online) | (peer == other_peer))
