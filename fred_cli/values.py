"""Parsing of option values."""

import re
from math import inf

from fred_hw.errors import InputError

__all__ = ["parse_clock", "parse_group", "parse_size"]

_UNITS = {
    "": 1,
    **{f"{prefix}B": 1000**n for n, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024 ** (n + 1) for n, prefix in enumerate(("K", "M", "G", "T"))},
}

_MOST_BYTES = 1e24  # the limit of any quantity in a file

_MOST_MEMBERS = 1 << 16  # far more than the NPUs of any wafer

_PERIODS_NS = {"ps": 1e-3, "ns": 1.0, "us": 1e3}
_FREQUENCIES_GHZ = {"khz": 1e-6, "mhz": 1e-3, "ghz": 1.0}


def parse_clock(text: str) -> float:
    """Return the period [ns] that a text such as ``0.853ns`` or ``1.2GHz`` means.

    Raises
    ------
    InputError
        The number or the unit is not understood.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]+)\s*", text)
    value, unit = (float(found[1]), found[2].lower()) if found else (0.0, "")
    period = value * _PERIODS_NS.get(unit, 0.0)
    if frequency := value * _FREQUENCIES_GHZ.get(unit, 0.0):
        period = 1 / frequency
    if 0 < period < inf:
        return period
    message = f"must be a number above 0 with one of ps, ns, us, kHz, MHz, GHz, not {text!r}"
    raise InputError("--clock", "", message)


def parse_size(text: str) -> float:
    """Return the bytes that a text such as ``1GiB`` or ``64MB`` means.

    Raises
    ------
    InputError
        The number or the unit is not understood.
    """
    found = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{0,30})?)\s*([a-zA-Z]*)\s*", text)
    units = {unit.lower(): factor for unit, factor in _UNITS.items()}
    if found is None or found[2].lower() not in units:
        known = ", ".join(unit for unit in _UNITS if unit)
        raise InputError("--size", "", f"must be a number with one of {known}, not {text!r:.60}")
    size = float(found[1]) * units[found[2].lower()]
    if size > _MOST_BYTES or 0 < size < 1:
        raise InputError("--size", "", f"must be 1 to {_MOST_BYTES:g} bytes, not {text!r:.60}")
    return size


def parse_group(text: str | None, option: str = "--group") -> list[int] | None:
    """Return the NPUs that an option text such as ``0,1,4-7`` means.

    Raises
    ------
    InputError
        The text does not have that form.
    """
    if text is None:
        return None
    members: list[int] = []
    most = _MOST_MEMBERS
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if found is None or (found[2] and int(found[2]) < int(found[1])):
            raise InputError(option, "", f"must be NPU numbers like 0,1,4-7, not {text!r}")
        first = int(found[1])
        last = int(found[2] or first)
        if len(members) + last - first >= most:
            raise InputError(option, "", f"must hold at most {most} NPUs, not {text!r}")
        members += range(first, last + 1)
    return members
