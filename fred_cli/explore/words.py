"""Columns and values as text: units, and numbers with SI prefixes."""

from math import floor, isfinite, log10

from .table import text

__all__ = ["label", "number", "quantity", "unit_of"]

_UNITS = (
    ("_bytes_per_s", "B/s"),
    ("_flops_per_s", "FLOP/s"),
    ("_flops", "FLOP/s"),
    ("_bytes", "B"),
    ("_hz", "Hz"),
    ("_s", "s"),
    ("_j", "J"),
)
"""Units by the last part of a name; otherwise the first part that has a unit counts."""

_NAMES = {
    "mp": "MP",
    "dp": "DP",
    "pp": "PP",
    "cp": "CP",
    "ep": "EP",
    "sp": "SP",
    "npu": "NPU",
    "npus": "NPUs",
    "hbm": "HBM",
    "io": "I/O",
    "l1": "L1",
    "l2": "L2",
    "topology": "topology",
}
_PREFIXES = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}
_PREFIXES |= {6: "E"}


def unit_of(name: str) -> str:
    """Return the unit of a column; empty if it has none."""
    for part in name.split("."):
        for end, unit in _UNITS:
            if part.endswith(end):
                return unit
    return ""


def label(name: str) -> str:
    """Return the label of a column, with its unit in brackets."""
    unit = unit_of(name)
    parts = [_words(part, unit) for part in name.split(".")]
    return " ".join(filter(None, (": ".join(parts), f"[{unit}]" if unit else "")))


def number(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:,.0f}" if abs(value) < 1e6 and value == int(value) else f"{value:.4g}"


def quantity(value: object, name: str) -> str:
    """Return a value of a column as text: 6.555 ms, 750 GB/s, MP2-DP8-PP1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text(value)
    unit = unit_of(name)
    if not unit:
        return number(value)
    if not value or not isfinite(value):
        return f"{value:g} {unit}"
    power = min(max(floor((log10(abs(value)) + 1e-12) / 3), min(_PREFIXES)), max(_PREFIXES))
    return f"{value / 1000.0**power:.4g} {_PREFIXES[power]}{unit}"


def _words(part: str, unit: str) -> str:
    for end, its in _UNITS:
        if its == unit and part.endswith(end):
            part = part.removesuffix(end)
            break
    return " ".join(_NAMES.get(word, word) for word in part.split("_"))
