"""Mapped modules at bit level, for exchanging cells and inserting buffers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .netlist import INSTANCE, PIN, MappedModule

__all__ = ["Definition", "Item", "Sink", "plain"]

_WIRE = re.compile(
    r"^  (?:input|output|inout|wire) (?:\[(\d+):(\d+)\] )?(\\\S+ |[\w$]+);", re.MULTILINE
)
_ASSIGN = re.compile(r"^  assign (.*?) = (.*?);$", re.MULTILINE)
_TERM = re.compile(
    r"(?P<name>\\\S+ |[A-Za-z_][\w$]*)(?:\[(?P<high>\d+)(?::(?P<low>\d+))?\])?"
    r"|\d+'s?b(?P<bits>[01xz?]+)"
)
_ADDED = "fred_sized"


@dataclass
class Item:
    """A cell, memory or submodule in a module.

    Parameters
    ----------
    kind, name : str
        Its kind and its name in Verilog.
    pins : dict of str to list of str
        Bits connected to each pin, the highest first.
    texts : dict of str to str
        The connections as written in Verilog.
    """

    kind: str
    name: str
    pins: dict[str, list[str]]
    texts: dict[str, str]


@dataclass(frozen=True)
class Sink:
    """A bit of a pin that a net drives: item, pin, and index in the pin's bits."""

    item: int
    pin: str
    place: int


class Definition:
    """A modifiable module.

    Parameters
    ----------
    module : MappedModule
        The module.
    """

    def __init__(self, module: MappedModule) -> None:
        self.version = 0  # incremented by each change
        self.module = module
        first = INSTANCE.search(module.text)
        body = module.text if first is None else module.text[: first.start()]
        self._widths: dict[str, tuple[int, int] | None] = {}
        for high, low, name in _WIRE.findall(module.text):
            self._widths[name.strip()] = (int(high), int(low)) if high else None
        self._head = _ASSIGN.sub("", body).removesuffix("endmodule\n").rstrip("\n")
        self.items = [
            self._item(kind, name, {pin.strip(): text for pin, text in PIN.findall(pins)})
            for kind, name, pins in INSTANCE.findall(module.text)
        ]
        self._assigns: list[tuple[str, str]] = _ASSIGN.findall(module.text)
        self._added: list[tuple[str, list[tuple[Item, dict[str, list[str]], dict[str, str]]]]] = []
        self._taken = {*self._widths, *(plain(item.name) for item in self.items)}
        self._same: dict[str, str] = {}
        for left, right in self._assigns:
            for one, other in zip(self.bits(left), self.bits(right), strict=True):
                self._join(one, other)
        self._same = {bit: self._root(bit) for bit in self._same}
        self.ports = {
            name: (direction, self.bits(name if name in self._widths else f"\\{name} "))
            for name, (direction, _) in module.ports.items()
        }

    def bits(self, text: str) -> list[str]:
        """Return the bits in a connection, the highest first."""
        found: list[str] = []
        for term in _TERM.finditer(text):
            if term["bits"]:
                found += [f"1'b{bit}" for bit in term["bits"]]
                continue
            name = term["name"].strip()
            width = self._widths.get(name)
            if width is None:
                found.append(name)
                continue
            high = int(term["high"]) if term["high"] else width[0]
            low = int(term["low"]) if term["low"] else high if term["high"] else width[1]
            step = -1 if high >= low else 1
            space = " " if name[0] == "\\" else ""
            found += [f"{name}{space}[{n}]" for n in range(high, low + step, step)]
        return found

    def net(self, bit: str) -> str:
        """Return the common name of bits on the same net."""
        return self._same.get(bit, bit)

    def _root(self, bit: str) -> str:
        while (other := self._same.get(bit)) is not None:
            bit = other
        return bit

    def _join(self, one: str, other: str) -> None:
        one, other = self._root(one), self._root(other)
        if one == other:
            return
        if one.startswith("1'b"):
            one, other = other, one
        self._same[one] = other

    def insert(self, net: str, sinks: Sequence[Sink], kind: str, pins: tuple[str, str]) -> None:
        """Insert a buffer between a net and some of its sinks.

        Parameters
        ----------
        net : str
            One of its bits.
        sinks : Sequence of Sink
            Which are behind the buffer then; the others stay.
        kind : str
            The buffer.
        pins : (input, output)
            Names of its pins.
        """
        name = f"{_ADDED}_{len(self._added)}"
        while name in self._taken or f"{name}_net" in self._taken:
            name += "x"
        wire = f"{name}_net"
        changed = [self.items[number] for number in sorted({sink.item for sink in sinks})]
        before = [(item, item.pins.copy(), item.texts.copy()) for item in changed]
        self._added.append((wire, before))
        for sink in sinks:
            item = self.items[sink.item]
            bits = item.pins[sink.pin].copy()
            bits[sink.place] = wire
            item.pins[sink.pin] = bits
            item.texts[sink.pin] = _joined(bits)
        texts = {pins[0]: _joined([net]), pins[1]: wire}
        self.version += 1
        self.items.append(Item(kind, name, {pins[0]: [net], pins[1]: [wire]}, texts))

    def take_back(self) -> None:
        """Remove the last buffer inserted."""
        self.version += 1
        self.items.pop()
        _, before = self._added.pop()
        for item, pins, texts in before:
            item.pins, item.texts = pins, texts

    def text(self) -> str:
        """Return the module as Verilog."""
        parts = [self._head, "\n", *(f"  wire {wire};\n" for wire, _ in self._added)]
        for item in self.items:
            lines = ",\n".join(f"    .{_named(pin)}({text})" for pin, text in item.texts.items())
            parts.append(f"  {_named(item.kind)} {_named(item.name)} (\n{lines}\n  );\n")
        parts += [f"  assign {left} = {right};\n" for left, right in self._assigns]
        return "".join([*parts, "endmodule\n"])

    def _item(self, kind: str, name: str, texts: dict[str, str]) -> Item:
        pins = {pin: self.bits(text) for pin, text in texts.items()}
        return Item(kind.strip(), name.strip(), pins, texts)


def plain(name: str) -> str:
    """Return a name without escape."""
    return name.strip().removeprefix("\\")


def _named(name: str) -> str:
    """Return a name in Verilog syntax, where an escaped name ends with a space."""
    return f"{name} " if name[0] == "\\" else name


def _joined(bits: Sequence[str]) -> str:
    """Return bits as one connection."""
    named = [bit if " [" in bit else _named(bit) for bit in bits]
    return named[0] if len(named) == 1 else "{ " + ", ".join(named) + " }"
