"""Identification of flows at an endpoint."""

from amaranth.hdl import Value
from amaranth.lib import data

from fred_hw.spec import SwitchSpec

__all__ = ["flow_layout", "same_flow", "way_layout"]


def flow_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a flow at an endpoint: identity and generation.

    Fields
    ------
    generation : generation
        Generation of the phase's entry, 0 for unicasts.
    peer : address
        For unicasts the other endpoint, destination or source; otherwise meaningless.
    phase : phase
        The phase, or ``ProtocolSpec.online`` for unicasts.
    """
    fields = spec.protocol.fields
    return data.StructLayout(
        {"generation": fields["generation"], "peer": fields["source"], "phase": fields["phase"]}
    )


def way_layout() -> data.StructLayout:
    """Return the layout of a flow's route, if sources choose routes.

    ``turned`` says which of two it is, ``doubtful`` that packets sent twice may be on it.
    """
    return data.StructLayout({"turned": 1, "doubtful": 1})


def same_flow(spec: SwitchSpec, flow: data.View, phase: Value, peer: Value) -> Value:
    """Return whether a phase and a peer identify a flow, regardless of the generation."""
    return (phase == flow.phase) & ((phase != spec.protocol.online) | (peer == flow.peer))
