"""Nets that nothing reads, taken out of what Icarus compiled.

Icarus names the result of each operator in an expression and each wire of each instance, a net that
is told of every change whoever reads it: of a switch of four ports they are two lines of five, half
of the time to load it, and a fifth of that of a simulation (docs/decisions/0063).
"""

import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import translate
from itertools import pairwise
from pathlib import Path

__all__ = ["NETS_READ", "without_unread_nets"]

NETS_READ = Path(__file__).read_text(encoding="utf-8")
"""What tells programs that this has made of what Icarus wrote from others."""

_NET = re.compile(r'^(v0x\w+) \.net\S* (\*?)"((?:[^"\\]|\\.)*)".*\n', re.MULTILINE)
"""The symbol of a net, "*" if it has no name of its own, and its name."""

_SYMBOL = re.compile(r"\bv0x\w+")
_MODULE = re.compile(
    r'^S_0x\w+ \.scope module, "\S+ "[^"\n]*"(?P<inside>.* S_0x\w+)?', re.MULTILINE
)


def without_unread_nets(compiled: str, probes: Sequence[str] | None = None) -> str:
    """Return a program of vvp without the nets that no statement, event or array reads.

    Parameters
    ----------
    compiled : str
        What Icarus wrote.
    probes : sequence of str or None
        Names of the nets that somebody looks at from outside, where "*" stands for any characters;
        those that stand in the top modules themselves stay too. None if nobody looks at any.
    """
    seen = Counter(_SYMBOL.findall(compiled))
    looked_at = re.compile("|".join(map(translate, probes or ())) or r"(?!)")

    def kept(net: re.Match[str]) -> str:
        symbol, unnamed, name = net.groups()
        read = seen[symbol] > 1 or (not unnamed and looked_at.match(name))
        return net[0] if read else ""

    if probes is None:
        return _NET.sub(kept, compiled)
    starts = list(_MODULE.finditer(compiled))
    ends = [0, *(one.start() for one in starts), len(compiled)]
    parts = [compiled[begin:end] for begin, end in pairwise(ends)]
    inside = [False, *(one["inside"] is not None for one in starts)]
    return "".join(
        _NET.sub(kept, part) if below else part for below, part in zip(inside, parts, strict=True)
    )
