"""C++ header of the protocol, generated from fred_hw/protocol.py."""

from fred_hw.protocol import (
    ADDRESSES,
    CONTROL,
    CRC_BITS,
    CRC_REFLECTED,
    HEADER_BITS,
    HEADER_FIELDS,
    KINDS,
    PROTOCOL_VERSION,
    Kind,
    ProtocolSpec,
    absent_fields,
)
from fred_hw.spec import SwitchSpec

__all__ = ["FIELDS", "SIZES", "protocol_header", "protocol_sizes"]


def protocol_sizes(spec: SwitchSpec) -> dict[str, int]:
    """Return the protocol sizes that a specification chooses."""
    return {
        "ports": spec.ports,
        "data_bits": spec.data_width,
        "digest": spec.digest,
        **{name: int(getattr(spec.protocol, name)) for name in ProtocolSpec.model_fields},
        "chooses": int(spec.protocol.routes is not None),
        "buffer_flits": spec.protocol.buffer_flits,
        "quiet_cycles": spec.protocol.quiet_cycles,
        "ack_cycles": spec.protocol.ack_cycles,
    }


_ANY = SwitchSpec(ports=2, lanes=1)  # all specs have the same names
FIELDS, SIZES = tuple(HEADER_FIELDS), tuple(protocol_sizes(_ANY))
"""Names of the fields and sizes in the header, in order."""


def protocol_header(protocol: ProtocolSpec) -> str:
    """Return ``protocol.hpp``: kinds, virtual channels, and names of fields and sizes.

    ``ABSENT_FROM_HANDSHAKES`` and alike are the fields that such flits have not.

    Parameters
    ----------
    protocol : ProtocolSpec
        Link layer, whose virtual channels have buffers.
    """
    constants = {
        "HEADER_BITS": HEADER_BITS,
        "CRC_BITS": CRC_BITS,
        "CRC_REFLECTED": CRC_REFLECTED,
        "ADDRESSES": ADDRESSES,
        "CIRCUITS": len(protocol.buffers),
        "CONTROL": CONTROL,
        "KINDS": len(KINDS),
    }
    kinds = ", ".join(f"{kind.name} = {kind.value}" for kind in Kind)
    names = ", ".join(f'"{kind}"' for kind in KINDS)
    # A flit without a virtual channel belongs to the control channel.
    first = {"version": PROTOCOL_VERSION, "circuit": CONTROL, "credit_circuit": CONTROL}
    places = HEADER_FIELDS.items()
    fields = [f"FIELD({name}, {low}, {bits}, {first.get(name, 0)})" for name, (low, bits) in places]
    absent = {
        "HANDSHAKES": absent_fields(Kind.HANDSHAKE, 0),
        "UNICASTS": absent_fields(Kind.DATA, 1),
        "PHASES": absent_fields(Kind.DATA, 0),
    }
    return "\n".join(
        [
            "#pragma once",
            *(f"constexpr unsigned {name} = {value};" for name, value in constants.items()),
            f"enum Kind : unsigned {{ {kinds} }};",
            f"inline constexpr const char* KIND_NAMES[] = {{{names}}};",
            *(f"constexpr unsigned {n.upper()}_BITS = {p.bits};" for n, p in places),
            f"constexpr unsigned KIND_LOW = {HEADER_FIELDS['kind'].low};",
            f"#define HEADER_FIELDS(FIELD) {' '.join(fields)}",
            *(
                f"#define ABSENT_FROM_{flits}(FIELD) {' '.join(f'FIELD({n})' for n in names)}"
                for flits, names in absent.items()
            ),
            f"struct Sizes {{ unsigned {', '.join(SIZES)}; }};",
            "",
        ]
    )
