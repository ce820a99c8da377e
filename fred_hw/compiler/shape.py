"""Micro-switches of FRED_m(P), and the layout of the configuration word."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from fred_hw.checks import check_int

__all__ = [
    "Field",
    "code_width",
    "configuration_width",
    "layout",
    "microswitch_counts",
    "shape_name",
    "split_count",
    "subswitch_ports",
]


def shape_name(ports: int, middle_switches: int) -> str:
    """Return the part of generated names for FRED_m(P)."""
    return f"m{middle_switches}_p{ports}"


def subswitch_ports(ports: int) -> int:
    """Return the ports of a middle subswitch, half of ``ports`` (above 2), rounded up."""
    return (ports + 1) // 2


def split_count(ports: int) -> int:
    """Return the number of input and output levels around the last crossing: 0 for 2 ports."""
    check_int("ports", ports, minimum=2)
    return (ports - 1).bit_length() - 1


def code_width(middle_switches: int) -> int:
    """Return the bits of a code from 0 to ``middle_switches``: idle, or a middle subswitch."""
    check_int("middle_switches", middle_switches, minimum=2)
    return middle_switches.bit_length()


@lru_cache(maxsize=1024)
def configuration_width(ports: int, middle_switches: int) -> int:
    """Return the bits of the configuration word of a FRED_m(P)."""
    check_int("ports", ports, minimum=2)
    codes = 2 * ports * code_width(middle_switches)
    return (
        4
        if ports == 2
        else codes + middle_switches * configuration_width(subswitch_ports(ports), middle_switches)
    )


def microswitch_counts(ports: int, middle_switches: int) -> dict[str, int]:
    """Return the numbers of R-, D- and RD-micro-switches, multiplexers and demultiplexers.

    Keys are ``R``, ``D``, ``RD``, ``mux`` and ``demux``.
    """
    check_int("ports", ports, minimum=2)
    check_int("middle_switches", middle_switches, minimum=2)
    sides = ends = 0
    copies = 1
    while ports > 2:
        sides += copies * (ports // 2)
        ends += copies * (ports % 2)
        ports, copies = subswitch_ports(ports), copies * middle_switches
    return {"R": sides, "D": sides, "RD": copies, "mux": ends, "demux": ends}


@dataclass(frozen=True)
class Field:
    """Position of one micro-switch's state in the configuration word.

    Parameters
    ----------
    path : str
        Path of the switch: names of the enclosing subswitches and its own name, separated by dots,
        as in ``middle_0.r_1``.
    kind : str
        ``R``, ``D``, ``RD``, ``demux`` or ``mux``.
    offset, width : int
        Lowest bit and number of bits.
    """

    path: str
    kind: str
    offset: int
    width: int


@lru_cache(maxsize=16)
def layout(ports: int, middle_switches: int) -> tuple[Field, ...]:
    """Return the fields of the configuration word from bit 0 up, without gaps.

    FRED_8(64) has 54,592 such fields.
    """
    check_int("ports", ports, minimum=2)
    check_int("middle_switches", middle_switches, minimum=2)
    return tuple(_fields("", 0, ports, middle_switches))


def _fields(prefix: str, offset: int, ports: int, middle_switches: int) -> Iterator[Field]:
    if ports == 2:
        yield Field(f"{prefix}rd", "RD", offset, 4)
        return
    width = code_width(middle_switches)
    for kind, end in (("R", "demux"), ("D", "mux")):
        for k in range(ports // 2):
            yield Field(f"{prefix}{kind.lower()}_{k}", kind, offset, 2 * width)
            offset += 2 * width
        if ports % 2:
            yield Field(f"{prefix}{end}", end, offset, width)
            offset += width
        if kind == "R":
            inner = subswitch_ports(ports)
            for c in range(middle_switches):
                yield from _fields(f"{prefix}middle_{c}.", offset, inner, middle_switches)
                offset += configuration_width(inner, middle_switches)
