"""Names for nets that Amaranth leaves unnamed."""

import re
from collections import Counter

from .keywords import KEYWORDS

__all__ = ["with_names"]

_NAMELESS = re.compile(r"\\\$\S+ ")
_NAME = re.compile(r"(?<![\w'$\\])[A-Za-z_]\w*")
_MODULE = re.compile(r"^module .*?^endmodule\n", re.DOTALL | re.MULTILINE)
_INSTANCE = re.compile(r"\s*\w+ (\w+) \(\s*\.")
_PIN = re.compile(r"\.(\w+)\(([^()]*)\)")
_DECLARED = re.compile(
    r"^  (?:input|output|wire|reg) (?:signed )?(?:\[[^]]*\] )?\\?(\w+)|^  \w+ \\?(\w+) +\(",
    re.MULTILINE,
)
_TARGET = re.compile(r"(\{[^}]*\}|\\\$\S+ |[A-Za-z_]\w*)(?: ?\[[^\]]*\])?\s*<?= ")


def with_names(verilog: str) -> str:
    """Return Verilog in which all nets have plain names.

    A net is called after what it goes into, a signal or a pin of an instance, and numbered in the
    order of the text: reports of timing, and readers, find the place in our sources by it.

    Raises
    ------
    ValueError
        A port, net or instance is named like a keyword, which some tools do not read even where it
        is escaped.
    """
    return _MODULE.sub(lambda found: _module(found[0]), verilog)


def _module(text: str) -> str:
    """Return a module in which all nets have plain names."""
    if bad := sorted({net or instance for net, instance in _DECLARED.findall(text)} & KEYWORDS):
        raise ValueError(f"names must not be keywords of Verilog, as are {bad} in {text[:60]!r}")
    goes_into: dict[str, str] = {}
    for statement in text.split(";\n"):
        _follow(statement, goes_into)
    taken = set(_NAME.findall(text))
    names: dict[str, str] = {}
    count: Counter[str] = Counter()
    for net in dict.fromkeys(_NAMELESS.findall(text)):
        base, seen = net, {net}
        while base.startswith("\\"):
            base = goes_into.get(base, "net")
            if base in seen:
                base = "net"
            seen.add(base)
        name = base
        while name == base or name in taken:
            count[base] += 1
            name = f"{base}_{count[base]}"
        taken.add(name)
        names[net] = name
    return _NAMELESS.sub(lambda found: names[found[0]], text)


def _follow(statement: str, goes_into: dict[str, str]) -> None:
    """Record the destination of each unnamed net in a statement."""
    if instance := _INSTANCE.match(statement):
        for pin, value in _PIN.findall(statement):
            for net in _NAMELESS.findall(value):
                goes_into.setdefault(net, f"{instance[1]}_{pin}")
    elif target := _TARGET.search(statement):
        into, *_ = [*_NAME.findall(target[1]), *_NAMELESS.findall(target[1]), "net"]
        # The upper bits of a sum that its target drops, and conditions, belong to it too.
        for net in _NAMELESS.findall(statement):
            if net != into:
                goes_into.setdefault(net, into)
