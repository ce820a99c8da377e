"""A smaller design with the same paths, in which few of several equal instances remain.

A switch of 256 lanes has millions of cells, most of them in equal modules side by side. Their paths
are equal, so some instances represent all. The others become blocks that load their inputs as the
module does and whose outputs never change, so that drivers see the full load.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from .blocks import Block
from .liberty import Libraries
from .netlist import INSTANCE, MappedModule, leaf_cells

__all__ = ["TIMED_CELLS", "Timed", "representatives"]

TIMED_CELLS = 600_000
"""Largest number of timed cells if fewer instances suffice; 1 GB in OpenSTA."""

_KEPT = (256, 64, 16, 8, 4, 3, 2, 1)
_NET = re.compile(r"(\\\S+ |[A-Za-z_][\w$]*)(?:\[(\d+)(?::(\d+))?\])?")


@dataclass(frozen=True)
class Timed:
    """The part of a design that is timed.

    Parameters
    ----------
    verilog : str
        Its modules.
    blocks : list of Block
        Instances that only load their inputs.
    cells : int
        Cells in it.
    kept : int or None
        Instances of the same module in the same module that are timed at most; None for all.
    """

    verilog: str
    blocks: list[Block]
    cells: int
    kept: int | None


def representatives(
    modules: Mapping[str, MappedModule],
    top: str,
    libraries: Libraries,
    memory_load_ff: float,
    most: float,
) -> Timed:
    """Return a design of about ``most`` cells with the same paths as the whole design."""
    kept = _kept_instances(modules, top, most)
    cells = _cells(modules, top, kept)
    if kept is None:
        return Timed("".join(module.text for module in modules.values()), [], cells, None)
    loads = _loads(modules, libraries, memory_load_ff)
    dropped: set[str] = set()
    text = "".join(_without(module, modules, kept, dropped) for module in modules.values())
    blocks = [Block(_load(name), modules[name].ports, loads[name]) for name in sorted(dropped)]
    return Timed(text, blocks, cells, kept)


def _kept_instances(modules: Mapping[str, MappedModule], top: str, most: float) -> int | None:
    """Return how many equal instances to keep in a module for ``most`` cells; or all."""
    if _cells(modules, top, None) <= most:
        return None
    return next((kept for kept in _KEPT if _cells(modules, top, kept) <= most), _KEPT[-1])


def _cells(modules: Mapping[str, MappedModule], top: str, kept: int | None) -> int:
    """Return the number of cells below ``top`` if that many equal instances are kept."""
    totals: dict[str, int] = {}
    for name, module in modules.items():
        inside = Counter(instance.module for instance in module.instances)
        totals[name] = module.cells.total() + sum(
            totals.get(inner, 0) * (count if kept is None else min(count, kept))
            for inner, count in inside.items()
        )
    return totals[top]


def _load(module: str) -> str:
    return f"fred_load_{module}"


def _without(
    module: MappedModule, modules: Mapping[str, MappedModule], kept: int, dropped: set[str]
) -> str:
    """Return the text of a module with surplus instances replaced; record their modules."""
    seen: Counter[str] = Counter()

    def replace(match: re.Match[str]) -> str:
        kind = match[1].strip()
        if kind not in modules:
            return match[0]
        seen[kind] += 1
        if seen[kind] <= kept:
            return match[0]
        dropped.add(kind)
        return match[0].replace(kind, _load(kind), 1)

    return INSTANCE.sub(replace, module.text) if module.instances else module.text


def _loads(
    modules: Mapping[str, MappedModule], libraries: Libraries, memory_load_ff: float
) -> dict[str, dict[str, float]]:
    """Return the capacitance of each module input, the largest over its bits [fF]."""
    loads: dict[str, dict[str, float]] = {}
    for name, module in modules.items():
        bits = {
            port: defaultdict[int | None, float](float)
            for port, (direction, _) in module.ports.items()
            if direction == "input"
        }
        for kind, pins in leaf_cells(module.text):
            cell = libraries.cells.get(kind)
            inputs = cell.inputs if cell else loads.get(kind)
            for pin, net in pins:
                load = memory_load_ff if inputs is None else inputs.get(pin, 0.0)
                if load:
                    _add(bits, net, load)
        loads[name] = {
            port: values.pop(None, 0.0) + max(values.values(), default=0.0)
            for port, values in bits.items()
        }
    return loads


def _add(bits: Mapping[str, dict[int | None, float]], nets: str, load: float) -> None:
    """Add a load to every bit of a connection; None means all bits."""
    for net, high, low in _NET.findall(nets):
        values = bits.get(net.strip().removeprefix("\\"))
        if values is None:
            continue
        if not high:
            values[None] += load
            continue
        first, last = sorted((int(high), int(low or high)))
        for index in range(first, last + 1):
            values[index] += load
