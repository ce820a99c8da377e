"""Signals that a switch counts and reports, one per name in ``switch_map``."""

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from fred_hw.spec import SwitchSpec

from .switch_map import COUNTERS, PORT_CAUSES, PORT_COUNTERS

__all__ = ["count_signature", "error_signature"]


def count_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of counted events, as seen by their source.

    Members
    -------
    <counter of the switch> : Out(1)
        For each of ``COUNTERS``: high in each cycle that it counts.
    <counter of each port> : Out(P)
        For each of ``PORT_COUNTERS``: high for a cycle for each event of a port.
    """
    members = {
        **dict.fromkeys(COUNTERS, Out(1)),
        **dict.fromkeys(PORT_COUNTERS, Out(spec.ports)),
    }
    return wiring.Signature(members)


def error_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of port errors, as seen by their source.

    Members
    -------
    <cause> : Out(P)
        For each of ``PORT_CAUSES``: high for a cycle for each error of a port.
    """
    return wiring.Signature(dict.fromkeys(PORT_CAUSES, Out(spec.ports)))
