"""Signals that a switch counts and reports, one per name in ``switch_map``."""

from amaranth.lib.wiring import Out

from fred_hw.member import Bundle, members

from .switch_map import COUNTERS, PORT_CAUSES, PORT_COUNTERS

__all__ = ["Counts", "Errors"]


class Counts(Bundle):
    """Events that a switch counts, as seen by their source."""

    of_switch = members(lambda spec: dict.fromkeys(COUNTERS, Out(1)))
    """For each of ``COUNTERS``: high in each cycle that it counts."""
    of_ports = members(lambda spec: dict.fromkeys(PORT_COUNTERS, Out(spec.ports)))
    """For each of ``PORT_COUNTERS``: high for a cycle for each event of a port."""


class Errors(Bundle):
    """Errors of the ports of a switch, as seen by their source."""

    of_ports = members(lambda spec: dict.fromkeys(PORT_CAUSES, Out(spec.ports)))
    """For each of ``PORT_CAUSES``: high for a cycle for each error of a port."""
