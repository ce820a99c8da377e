"""Parts of manifests that several levels share."""

from collections.abc import Mapping
from typing import Any

from fred_hw.control.registers import RegisterMap
from fred_hw.link.crowding import CROWDING_BITS, CROWDING_PLACES
from fred_hw.protocol import CRC_BITS, HEADER_BITS, HEADER_FIELDS, KINDS, ProtocolSpec
from fred_hw.spec import SwitchSpec

__all__ = ["controlled", "header_fields", "placed", "streams"]


def header_fields() -> dict[str, list[int]]:
    """Return offset and width of each field of ``tuser``."""
    fields = {name: list(place) for name, place in HEADER_FIELDS.items()}
    return fields | {"crc": [HEADER_BITS, CRC_BITS]}


def streams(slave: str, master: str, spec: SwitchSpec | None = None) -> dict[str, Any]:
    """Return the names of links, and the contents of ``tuser``.

    If the sources of ``spec`` choose routes, there is one more kind, and acks, nacks and credits of
    routers carry the load of routes.
    """
    protocol = ProtocolSpec() if spec is None else spec.protocol
    chooses = protocol.routes is not None
    crowding = {
        direction: [HEADER_FIELDS[field].low + low, CROWDING_BITS]
        for direction, (field, low) in CROWDING_PLACES.items()
    }
    return {
        "streams": {
            "slave": slave,
            "master": master,
            "tuser": header_fields(),
            "kinds": [*KINDS],
            **({"crowding": crowding} if chooses else {}),
            "circuits": protocol.circuits,
        }
    }


def controlled(spec: SwitchSpec, registers: RegisterMap) -> dict[str, Any]:
    """Return the sizes that neighbours must share, and the location of registers."""
    return {
        "link_digest": spec.digest,
        "registers": {
            register.name: {"offset": register.address, "words": register.count or 1}
            for register in registers.registers
        },
    }


def placed(fields: Mapping[str, int]) -> dict[str, list[int]]:
    """Return offset and width of each field of a word."""
    places, offset = {}, 0
    for name, width in fields.items():
        places[name] = [offset, width]
        offset += width
    return places
