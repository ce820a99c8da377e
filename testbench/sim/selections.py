"""Selections in a design by an index, of which it compares the index with each number there is.

Gates make as many comparisons as a table has entries, all at once. A simulator makes them one
after the other, for each reader and in each cycle. Here an or of all entries of a vector, each if
an index is its number, becomes a part of the vector.
"""

import re
from dataclasses import dataclass

from .verilog_text import MODULE, NAME, declared_widths

__all__ = ["with_selections"]

_ENTRIES = 16
"""A selection is changed from so many entries on."""

_OR = re.compile(rf"^  assign ({NAME}) = ({NAME}) \| ({NAME});$", re.M)
_ENTRY = re.compile(rf"^  assign ({NAME}) = ({NAME}) \? ({NAME})\[(\d+):(\d+)\] : \d+'h0+;$", re.M)
_INDEX = rf"{NAME}\[\d+:\d+\]"
_EQUAL = re.compile(
    rf"^  assign ({NAME}) = (?:! ({_INDEX})|({_INDEX}) == \d+'h([0-9a-f]+));$", re.M
)


@dataclass(frozen=True)
class _Entry:
    """Bits ``high`` to ``low`` of a vector, if an index is a number."""

    vector: str
    high: int
    low: int
    index: str
    number: int


def with_selections(verilog: str) -> str:
    """Return a design whose selections of all entries of a vector, 16 or more, are parts of it.

    Parameters
    ----------
    verilog : str
        As ``gen.emitter`` writes it.
    """
    return MODULE.sub(lambda found: _selected(found[0]), verilog)


def _selected(text: str) -> str:
    numbers = {m[1]: (m[2] or m[3], int(m[4] or "0", 16)) for m in _EQUAL.finditer(text)}
    if len(numbers) < _ENTRIES:
        return text
    entries = {
        m[1]: _Entry(m[3], int(m[4]), int(m[5]), *numbers[m[2]])
        for m in _ENTRY.finditer(text)
        if m[2] in numbers
    }
    ors = {m[1]: (m[2], m[3]) for m in _OR.finditer(text)}
    widths = declared_widths(text)
    for root in ors.keys() - {part for parts in ors.values() for part in parts}:
        leaves, found = [root], list[_Entry]()
        while leaves and (leaves[-1] in ors or leaves[-1] in entries):
            one = leaves.pop()
            if one in ors:
                leaves += ors[one]
            else:
                found.append(entries[one])
        if not leaves and (part := _part(found, widths)):
            driver = re.compile(rf"^  assign {re.escape(root)} = .*;$", re.M)
            text = driver.sub(lambda _, to=f"  assign {root} = {part};": to, text)
    return text


def _part(found: list[_Entry], widths: dict[str, int]) -> str | None:
    """Return the part of a vector that is the or of entries, if it has one for each index."""
    one = found[0]
    size = one.high - one.low + 1
    high, low = map(int, re.findall(r"\d+", one.index.rpartition("[")[2]))
    all_of_it = {
        _Entry(one.vector, size * (k + 1) - 1, size * k, one.index, k)
        for k in range(1 << (high - low + 1))
    }
    width = widths.get(one.vector.strip())
    if len(found) < _ENTRIES or set(found) != all_of_it or width != size * len(all_of_it):
        return None
    return f"{one.vector}[{one.index} * {size} +: {size}]"
