"""Connections that the micro-switches of a configuration make, the unit of pruning."""

from collections.abc import Iterable, Iterator
from zlib import crc32

from .shape import code_width, layout

__all__ = [
    "BOTH",
    "Connection",
    "connections",
    "every_connection",
    "kept_connections",
    "made_by",
]

Connection = tuple[int, int]
"""Source and output of a micro-switch. The source is 1 or 2 for an input of R, RD or demux that
passes, ``BOTH`` for the reduction of both, and c + 1 for input c of D or mux."""

BOTH = 3


def connections(kind: str, word: int, middle_switches: int) -> Iterator[Connection]:
    """Yield the connections of a micro-switch in one state.

    Parameters
    ----------
    kind : str
        ``R``, ``D``, ``RD``, ``demux`` or ``mux``.
    word : int
        Its part of the configuration word.
    middle_switches : int
        Middle subswitches m, at least 2.
    """
    width = 2 if kind == "RD" else code_width(middle_switches)
    most = BOTH if kind == "RD" else middle_switches
    # Codes above the number of subswitches are idle.
    codes = [code if code <= most else 0 for code in (word & ((1 << width) - 1), word >> width)]
    if kind in ("D", "mux", "RD"):
        for output, source in enumerate(codes):
            if source and (kind != "RD" or source == BOTH or BOTH not in codes):
                yield source, output
    elif codes[0] and codes[0] == codes[1]:
        yield BOTH, codes[0] - 1
    else:
        yield from ((source, code - 1) for source, code in enumerate(codes, 1) if code)


def every_connection(kind: str, middle_switches: int) -> frozenset[Connection]:
    """Return all connections that a micro-switch can make; see :func:`connections`."""
    sources = {"demux": (1,), "R": (1, 2, BOTH), "RD": (1, 2, BOTH)}
    outputs = {"mux": 1, "D": 2, "RD": 2}.get(kind, middle_switches)
    found = sources.get(kind, range(1, middle_switches + 1))
    return frozenset((source, output) for source in found for output in range(outputs))


def kept_connections(
    unit: str, kind: str, middle_switches: int, kept: Iterable[Connection] | None
) -> tuple[frozenset[Connection], str]:
    """Return connections to keep, all by default, and a suffix for names, empty for all.

    Raises
    ------
    ValueError
        The micro-switch cannot make one of them, or there are none.
    """
    every = every_connection(kind, middle_switches)
    if kept is None:
        return every, ""
    found = frozenset(kept) if isinstance(kept, Iterable) else frozenset()
    if not found or not found <= every:
        raise ValueError(f"{unit} connections must be some of {sorted(every)}, not {kept!r}")
    return found, "" if found == every else f"_only_{crc32(repr(sorted(found)).encode()):08x}"


def made_by(
    words: Iterable[int], ports: int, middle_switches: int
) -> dict[str, frozenset[Connection]]:
    """Return the connections that any of some configuration words makes, by path in ``layout``."""
    words = tuple(words)
    found = {}
    for field in layout(ports, middle_switches):
        states = {word >> field.offset & ((1 << field.width) - 1) for word in words}
        found[field.path] = frozenset(
            one for state in states for one in connections(field.kind, state, middle_switches)
        )
    return found
