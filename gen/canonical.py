"""Canonical hash of Verilog, independent of names, by which records identify a design.

Two texts have the same hash if one can be made from the other by renaming modules, instances, ports
and nets, by moving modules, or by reordering declarations, assignments and instances, whose order
has no meaning in Verilog. Comments and attributes are left out.

Yosys sorts its output by name, so numbering names in the order of the text is not enough: a renamed
net moves its declaration. Instead each module is walked from its ports, from each net to its
drivers, and names are numbered in that order. The name of an instance is replaced by the hash of
its module.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from .verilog_parser import (
    Instance,
    Item,
    Module,
    Tokens,
    VerilogError,
    is_name,
    parse_module,
    read_modules,
    targets,
)

__all__ = ["canonical_hash"]


@dataclass(frozen=True)
class _Hashed:
    """Hash of a module, and what is needed to hash its instances.

    These are its ports and parameters by name, and the places of the ports that drive.
    """

    sha256: str
    ports: Mapping[str, int]
    parameters: Mapping[str, int]
    driving: frozenset[int]


def canonical_hash(*texts: str) -> str:
    """Return the SHA-256 of the design that Verilog texts describe together.

    Parameters
    ----------
    texts : str
        Modules. Modules without an instance in any text are the tops. A module may be in several
        texts if it is the same in all.

    Raises
    ------
    VerilogError
        A text is outside the generated subset of Verilog, two texts have different modules of one
        name, or a module contains itself.
    """
    written: dict[str, list[Tokens]] = {}
    for name, tokens in (one for text in texts for one in read_modules(text)):
        variants = written.setdefault(name, [])
        if tokens not in variants:
            variants.append(tokens)
    modules = {
        name: [parse_module(name, one) for one in variants] for name, variants in written.items()
    }
    inside = {
        name: {instance.module for one in variants for instance in one.instances}
        for name, variants in modules.items()
    }
    try:
        order = list(TopologicalSorter(inside).static_order())
    except CycleError as error:
        raise VerilogError(f"module {error.args[1][0]} must not contain itself") from None
    hashed: dict[str, _Hashed] = {}
    for name in order:
        for one in modules.get(name, ()):
            found = _hashed(one, hashed)
            if hashed.setdefault(name, found) != found:
                raise VerilogError(f"module {name} must be the same in all texts")
    tops = modules.keys() - set[str]().union(*inside.values())
    return _digest(sorted(hashed[name].sha256 for name in tops))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _joined(instance: Instance, hashed: Mapping[str, _Hashed]) -> Item:
    """Return an instance without the names of its module, parameters and pins.

    A module that is in no text keeps its name and those of its pins, and may drive what is at them.
    """
    module = hashed.get(instance.module)
    tokens = [f"@{module.sha256 if module else instance.module}"]
    drives: list[str] = []
    for what, given in (("#", instance.parameters), (".", instance.pins)):
        known = module and (module.parameters if what == "#" else module.ports)
        numbered: list[tuple[int, str, Tokens]] = []
        for place, (name, value) in enumerate(given):
            if known is not None and name and name not in known:
                raise VerilogError(f"instance of {instance.module} must not have {name}")
            number = known[name] if known is not None and name else place
            numbered.append((number, "" if known is not None else f"@{name}", value))
            if what == "." and (module is None or number in module.driving):
                drives += targets(value)
        if known is None:
            numbered.sort(key=lambda one: one[1:])
            numbered = [(0, *one[1:]) for one in numbered]
        for number, name, value in sorted(numbered, key=lambda one: one[0]):
            tokens += [what, f"@{number}", name, "(", *value, ")"]
    return Item(tokens, drives)


class _Numbers(dict[str, str]):
    """Tokens in canonical form: numbers for names, other tokens unchanged.

    Names are numbered when they are first asked for, and are then in ``names``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, token: str) -> str:
        if token and is_name(token):
            self[token] = shown = f"%{len(self.names)}"
            self.names.append(token)
        else:
            self[token] = shown = token
        return shown

    def key(self, tokens: Tokens) -> Tokens:
        """Return tokens with ``?`` in place of names that have no number yet."""
        return [self.get(token, "?" if token and is_name(token) else token) for token in tokens]


def _hashed(module: Module, hashed: Mapping[str, _Hashed]) -> _Hashed:
    """Return a module's hash and connections, as modules that instantiate it need them."""
    items = [*module.items, *(_joined(one, hashed) for one in module.instances)]
    drivers: dict[str, list[Item]] = {}
    for item in items:
        for name in dict.fromkeys(item.drives):
            drivers.setdefault(name, []).append(item)
    numbers, lines, done = _Numbers(), list[str](), dict[int, int]()

    def add(item: Item) -> None:
        if id(item) not in done:
            done[id(item)] = len(done)
            lines.append(" ".join([numbers[token] for token in item.tokens]))

    def walk(first: int) -> int:
        """Traverse from all numbered names; return the final count of numbers."""
        while first < len(numbers.names):
            name = numbers.names[first]
            for one in sorted(module.declared.get(name, ())):
                lines.append(f"%{first} {' '.join([numbers[token] for token in one])}")
            driving = _in_order(drivers.get(name, ()), numbers)
            for item in driving:
                add(item)
            if len(driving) > 1:  # some may have been reached earlier from another net
                lines.append(" ".join(str(done[id(one)]) for one in driving if one.ordered))
            first += 1
        return first

    for name in (*module.ports, *module.parameters):
        _ = numbers[name]
    lines.append(f"{len(module.ports)} {len(module.parameters)}")
    walked = walk(0)
    # The remaining items drive nothing on which the ports depend.
    for item in _in_order([one for one in items if id(one) not in done], numbers):
        add(item)
        walked = walk(walked)
    ports = {name: number for number, name in enumerate(module.ports)}
    parameters = {name: number for number, name in enumerate(module.parameters)}
    driving = (ports[name] for name in ports if module.directions(name) != {"input"})
    return _Hashed(_digest(lines), ports, parameters, frozenset(driving))


def _in_order(items: Sequence[Item], numbers: _Numbers) -> list[Item]:
    """Return items in an order independent of names; procedural blocks come last, as written."""
    if len(items) < 2:
        return list(items)
    free = sorted(
        (one for one in items if not one.ordered), key=lambda one: numbers.key(one.tokens)
    )
    return free + [one for one in items if one.ordered]
