"""Identification of flows at an endpoint."""

from amaranth.hdl import Value
from amaranth.lib import data

from fred_hw.spec import SwitchSpec

__all__ = ["flow_layout", "route_layout", "same_flow"]


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


def route_layout() -> data.StructLayout:
    """Return the layout of a flow's route, if sources choose routes.

    ``alternate`` selects the second of two routes; ``doubtful`` is set while duplicates may be in
    flight.
    """
    return data.StructLayout({"alternate": 1, "doubtful": 1})


def same_flow(spec: SwitchSpec, flow: data.View, phase: Value, peer: Value) -> Value:
    """Return whether a phase and a peer identify a flow, regardless of the generation."""
    return (phase == flow.phase) & ((phase != spec.protocol.online) | (peer == flow.peer))
