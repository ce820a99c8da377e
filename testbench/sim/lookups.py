"""Parities in a design, looked up.

A CRC is some hundred gates, all at once, and a simulator computes each of its bits after the other.
Here exclusive ors of a module are followed from a word of such bits back to what they are made of,
and the word becomes that of tables, one for each eight of those bits. Tables come from the text of
the design alone, so what is wrong in it stays as wrong.
"""

import re
from collections.abc import Iterator

from .verilog_text import MODULE, NAME, declared_widths

__all__ = ["with_lookups"]

_TERMS, _BITS = 4, 16
"""A concatenation of so many bits is looked up if each is the sum of so many others."""

_ASSIGN = re.compile(r"^  assign (.+?) = (.+);$", re.M)
_OTHER = re.compile(r"[&|?<>=+*/!-]")
"""Operators that are no exclusive or."""

_CONCATENATION = re.compile(r"\{ [^{}]+ \}(?! <?= )")
_TOKEN = re.compile(
    rf"\s*(?:(?P<bits>\d+)'(?P<base>[hd])(?P<digits>[0-9a-f]+)"
    rf"|(?P<name>{NAME})\s*(?:\[(?P<high>\d+)(?::(?P<low>\d+))?\])?|(?P<sign>\S))"
)

Bit = tuple[str, int]
Sum = tuple[int, int]
"""Bits, as a mask of their numbers, and a constant: a bit is their exclusive or."""

Tokens = Iterator[re.Match[str]]


class _NotLinearError(Exception):
    """An expression has more than exclusive ors in it."""


class _Module:
    """What bits of a module are sums of.

    Parameters
    ----------
    text : str
        The module.
    """

    def __init__(self, text: str) -> None:
        self.widths = declared_widths(text)
        self.sources: dict[Bit, int] = {}
        self._sums: dict[Bit, Sum] = {}
        self._open: set[Bit] = set()
        self._drivers: dict[Bit, tuple[str, int]] = {}
        self._values: dict[str, list[Sum]] = {}
        for target, value in _ASSIGN.findall(text):
            if _OTHER.search(value):
                continue
            names = [token for token in _TOKEN.finditer(target) if token["name"]]
            if all(token["name"].strip() in self.widths for token in names):
                bits = [bit for token in reversed(names) for bit in self._part(token)]
                self._drivers |= {bit: (value, place) for place, bit in enumerate(bits)}

    def value(self, text: str) -> list[Sum]:
        """Return the sums of an expression of names, numbers, ``{}``, ``~`` and ``^``.

        Raises
        ------
        _NotLinearError
            There is more in it.
        """
        tokens = _TOKEN.finditer(text)
        value, token = self._operand(tokens, next(tokens, None))
        while token is not None:
            if token["sign"] != "^":
                raise _NotLinearError
            other, token = self._operand(tokens, next(tokens, None))
            if len(other) != len(value):
                raise _NotLinearError
            value = [(a ^ c, b ^ d) for (a, b), (c, d) in zip(value, other, strict=True)]
        return value

    def _part(self, token: re.Match[str]) -> list[Bit]:
        """Return the bits of a name or of a part of one, low ones first."""
        name = token["name"].strip()
        if name not in self.widths:
            raise _NotLinearError
        high = self.widths[name] - 1 if token["high"] is None else int(token["high"])
        low = 0 if token["high"] is None else int(token["low"] or high)
        return [(name, k) for k in range(low, high + 1)]

    def _sum(self, bit: Bit) -> Sum:
        """Return what a bit is the sum of: of itself alone if no exclusive or drives it."""
        if bit in self._open:  # its driver has other bits, too, which this one drives
            raise _NotLinearError
        if bit not in self._sums:
            self._open.add(bit)
            try:
                self._sums[bit] = self._driven(bit)
            except _NotLinearError:
                self._sums[bit] = (1 << self.sources.setdefault(bit, len(self.sources)), 0)
            self._open.remove(bit)
        return self._sums[bit]

    def _driven(self, bit: Bit) -> Sum:
        if bit not in self._drivers:
            raise _NotLinearError
        driver, place = self._drivers[bit]
        if driver not in self._values:
            self._values[driver] = self.value(driver)
        if place >= len(self._values[driver]):
            raise _NotLinearError
        return self._values[driver][place]

    def _operand(
        self, tokens: Tokens, token: re.Match[str] | None
    ) -> tuple[list[Sum], re.Match[str] | None]:
        """Return the value of an operand, and the token behind it."""
        if token is None:
            raise _NotLinearError
        if token["name"]:
            return [self._sum(bit) for bit in self._part(token)], next(tokens, None)
        if token["bits"]:
            number = int(token["digits"], 16 if token["base"] == "h" else 10)
            return [(0, number >> k & 1) for k in range(int(token["bits"]))], next(tokens, None)
        if token["sign"] == "{":
            return self._concatenation(tokens), next(tokens, None)
        if token["sign"] not in "~^":
            raise _NotLinearError
        value, following = self._operand(tokens, next(tokens, None))
        if token["sign"] == "~":
            return [(mask, 1 - one) for mask, one in value], following
        mask = parity = 0
        for part, one in value:
            mask, parity = mask ^ part, parity ^ one
        return [(mask, parity)], following

    def _concatenation(self, tokens: Tokens) -> list[Sum]:
        """Return the value of a concatenation whose bracket has been read, up to the other one."""
        value: list[Sum] = []
        while True:
            part, token = self._operand(tokens, next(tokens, None))
            value = part + value
            if token is None or token["sign"] not in (",", "}"):
                raise _NotLinearError
            if token["sign"] == "}":
                return value


def with_lookups(verilog: str) -> str:
    """Return a design whose words of parities are looked up.

    Parameters
    ----------
    verilog : str
        As ``gen.emitter`` writes it.
    """
    return MODULE.sub(lambda found: _looked_up(found[0]), verilog)


def _looked_up(text: str) -> str:
    if text.count("^") < _BITS:
        return text
    module, found = _Module(text), dict[str, tuple[str, list[Sum]]]()

    def replaced(one: re.Match[str]) -> str:
        try:
            sums = module.value(one[0])
        except _NotLinearError:
            return one[0]
        if len(sums) < _BITS or min(mask.bit_count() for mask, _ in sums) < _TERMS:
            return one[0]
        name = f"lookup_{len(found)}"
        found[name] = one[0], sums
        return name

    text, added = _CONCATENATION.sub(replaced, text), ""
    for name, (was, sums) in found.items():
        if _only_passed_on(text, name):
            text = re.sub(rf"\b{name}\b", lambda _, to=was: to, text)
        else:
            added += _lookup(name, module, sums)
    return text.removesuffix("endmodule") + added + "endmodule"


def _only_passed_on(text: str, name: str) -> bool:
    """Return whether all that a word drives was in sums that are looked up now, too."""
    for target in re.findall(rf"^  assign (.+?) = .*\b{name}\b.*;$", text, re.M):
        driven = {token["name"] for token in _TOKEN.finditer(target) if token["name"]}
        # All but declarations of wires and what is driven.
        read = re.sub(r"^  (?:wire|reg) .*;$|^  assign .+? = ", "", text, flags=re.M)
        return not any(re.search(rf"(?<!\w){re.escape(one.strip())}(?!\w)", read) for one in driven)
    return False


def _lookup(name: str, module: _Module, sums: list[Sum]) -> str:
    """Return the declaration of a word of sums: an exclusive or of what tables say."""
    width, used = len(sums), 0
    for mask, _ in sums:
        used |= mask
    bits = sorted((bit, place) for bit, place in module.sources.items() if used >> place & 1)
    lines, constant = [], sum(one << k for k, (_, one) in enumerate(sums))
    terms = [f"{width}'h{constant:x}"]
    for first in range(0, len(bits), 8):
        part, table = bits[first : first + 8], [0]
        for _, place in part:
            alone = sum((mask >> place & 1) << k for k, (mask, _) in enumerate(sums))
            table += [entry ^ alone for entry in table]
        one = f"{name}_{first // 8}"
        at = ", ".join(_text(module, bit) for bit, _ in reversed(part))
        # Verilator makes a table of a case, one for all instances, if its index is short,
        # and "public" keeps longer variables from being put in its place.
        lines.append(
            f"  wire [{len(part) - 1}:0] {one}_at /*verilator public_flat_rd*/ = {{ {at} }};\n"
            f"  reg [{width - 1}:0] {one};\n  always @* case ({one}_at)\n"
        )
        cases = ((f"{len(part)}'h{k:x}", f"{width}'h{entry:x}") for k, entry in enumerate(table))
        lines += [f"    {index}: {one} = {entry};\n" for index, entry in cases]
        lines.append("  endcase\n")
        terms.append(one)
    return "".join([*lines, f"  wire [{width - 1}:0] {name} = {' ^ '.join(terms)};\n"])


def _text(module: _Module, bit: Bit) -> str:
    """Return how a bit is written; an escaped name ends with a space."""
    name, place = bit
    space = " " if name.startswith("\\") else ""
    return name + space if module.widths[name] == 1 else f"{name}{space}[{place}]"
