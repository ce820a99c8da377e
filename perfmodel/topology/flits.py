"""Payload share and provenance of links that carry flits outside a FRED switch."""

from perfmodel.switch_timing.provenance import Provenance
from perfmodel.switch_timing.record import IDEAL_PROTOCOL, ProtocolModel
from perfmodel.switch_timing.router import LinkTiming, RouterTiming

__all__ = ["payload_share", "protocol_of", "provenance"]


def payload_share(timing: LinkTiming | None) -> float:
    """Return the fraction of a link's rate available for payload, above 0 and at most 1.

    It is 1 if the protocol is ideal, for which ``timing`` may be None, and if the record is of an
    interconnect without ports.
    """
    return timing.link_share if timing else 1.0


def protocol_of(timing: LinkTiming | None) -> ProtocolModel:
    """Return the protocol of links that carry flits outside a FRED switch."""
    return timing.protocol if timing else "ideal"


def provenance(timing: LinkTiming | None, links: str, assumption: str) -> Provenance:
    """Return the source of such links' efficiency.

    Parameters
    ----------
    timing : SwitchTiming, RouterTiming or None
        Timing of the routers at their ends, or of the switch whose flits, headers, CRC and acks
        they carry.
    links : str
        Name of the links, such as ``mesh links``.
    assumption : str
        Further assumption of their topology without a record of its routers.
    """
    if timing is None or timing.protocol == "ideal":
        return Provenance(assumptions=(assumption, IDEAL_PROTOCOL))
    if isinstance(timing, RouterTiming):
        return Provenance((timing.use(f"routers of {links}"),))
    if timing.switch is None:
        text = f"{links} have all of their rate: record {timing.loaded_as} is of an interconnect"
        return Provenance(assumptions=(assumption, f"{text} alone"))
    text = (
        f"{links} carry flits, headers, CRC and acks as those of {timing.loaded_as} do, so "
        f"payload is {timing.efficiency:.4g} of their rate"
    )
    return Provenance((timing.use(links, latency=False),), (assumption, text))
