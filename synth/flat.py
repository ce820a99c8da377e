"""A flattened mapped design: cells and nets of all instances as arrays."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .blocks import Block
from .definitions import Definition, Sink, plain
from .delays import Floats, Ints
from .kinds import Kinds

__all__ = ["HIGH", "LOW", "Cache", "Flat", "Inside", "Surroundings", "flatten"]

LOW, HIGH = -2, -1
"""Nets of the constants 0 and 1; unconnected pins are low."""

_CONSTANTS = {"1'b0": LOW, "1'b1": HIGH}


@dataclass
class Flat:
    """A flattened design: cells in the order of their instances, nets by number.

    Parameters
    ----------
    cell : Ints
        For each cell, the item of the definition that it is an instance of.
    pins : Ints
        For each cell, the net of each pin; negative for a constant.
    nets : int
        Number of nets.
    memory, memory_pins : Ints
        For each memory, the item that it is an instance of; and the nets of the pins of all
        memories, in their order, the highest bit of each pin first.
    launches, ends : Ints
        Nets that memories and external registers drive, and nets that they read.
    loaded, load : Ints, Floats
        Nets with the load of memories and blocks, and this load in units of the library.
    net_of, net, base : Ints
        For each net of each instance of a definition: its number in the definition, its number in
        the whole design, and the first cell of the instance.
    """

    cell: Ints
    pins: Ints
    nets: int
    memory: Ints
    memory_pins: Ints
    launches: Ints
    ends: Ints
    loaded: Ints
    load: Floats
    net_of: Ints
    net: Ints
    base: Ints


@dataclass
class Inside:
    """A definition with numbers for names.

    Parameters
    ----------
    flat : Flat
        Dissolved; its own cells come first.
    first_item, first_net : int
        Numbers of its first item and net among those of all definitions.
    nets : dict of str to int
        Numbers of its nets, from 0.
    cells : list of int
        Items that are cells, in order.
    children : list of (item, first cell)
        Items that are modules and are timed, and where their cells begin.
    sinks : dict of int to list of Sink
        Where each net leads to, ports apart.
    ports : dict of str to list of int
        Nets of each port when dissolved, the highest bit first.
    """

    flat: Flat
    first_item: int
    first_net: int
    nets: dict[str, int]
    cells: list[int]
    children: list[tuple[int, int]]
    sinks: dict[int, list[Sink]]
    ports: dict[str, list[int]]


@dataclass(frozen=True)
class Surroundings:
    """Context of the definitions in a design.

    Parameters
    ----------
    kinds : Kinds
        The cells.
    blocks : Mapping of str to Block
        Memories, and what stands for modules that are left out.
    kept : int or None
        Instances of a module in a module that are not left out; None for all.
    unit_ff : float
        Unit of capacitance in the library [fF].
    """

    kinds: Kinds
    blocks: Mapping[str, Block]
    kept: int | None
    unit_ff: float

    def block(self, kind: str) -> Block | None:
        """Return the block that represents an untimed item."""
        return self.blocks.get(kind) or self.blocks.get(f"fred_load_{kind}")


Cache: TypeAlias = "dict[str, tuple[int, _Numbered]]"


def flatten(
    definitions: Mapping[str, Definition],
    top: str,
    clocks: set[str],
    around: Surroundings,
    cache: Cache,
) -> tuple[Flat, dict[str, Inside]]:
    """Flatten a design; also return its numbered definitions.

    Parameters
    ----------
    definitions : Mapping of str to Definition
        Its modules, each behind those in it.
    top : str
        Name of the top module.
    clocks : set of str
        Its ports that are clocks.
    around : Surroundings
        The cells and blocks in it.
    cache : dict
        Definitions in numbers from the last time, for the same definitions and surroundings;
        empty at first.
    """
    insides: dict[str, Inside] = {}
    items = nets = 0
    for name, definition in definitions.items():
        version, numbered = cache.get(name, (-1, None))
        if numbered is None or version != definition.version:
            numbered = _Numbered(definition, definitions, around)
            cache[name] = definition.version, numbered
        insides[name] = numbered.inside(insides, items, nets)
        items += len(definition.items)
        nets += len(insides[name].nets)
    flat = insides[top].flat
    ends: dict[str, list[int]] = {"input": [], "output": [], "inout": []}
    for port, (direction, _) in definitions[top].ports.items():
        if port not in clocks:
            ends[direction] += insides[top].ports[port]
    flat.launches = np.concatenate([flat.launches, _there(ends["input"] + ends["inout"])])
    flat.ends = np.concatenate([flat.ends, _there(ends["output"] + ends["inout"])])
    return flat, insides


def _with_constants(numbers: Ints) -> Ints:
    """Return the numbers of nets, which constants index from the end."""
    return np.append(numbers, [LOW, HIGH])


def _there(nets: Sequence[int]) -> Ints:
    """Return nets without constants."""
    return np.array([net for net in nets if net >= 0], dtype=np.int64)


class _Numbered:
    """A definition with numbered nets, independent of the contents of other definitions."""

    def __init__(
        self, definition: Definition, definitions: Mapping[str, Definition], around: Surroundings
    ) -> None:
        self._definition, self._definitions, self._around = definition, definitions, around
        self.nets: dict[str, int] = {}
        self.sinks: dict[int, list[Sink]] = {}
        self.cells: list[int] = []
        self._rows: list[list[int]] = []
        self._modules: list[tuple[int, str, dict[str, list[int]]]] = []
        self._memory: list[int] = []
        self._memory_pins: list[int] = []
        self._launches: list[int] = []
        self._ends: list[int] = []
        self._loaded: list[int] = []
        self._load: list[float] = []
        seen: Counter[str] = Counter()
        for number, item in enumerate(definition.items):
            kind = plain(item.kind)
            pins = {pin: self._numbers(bits) for pin, bits in item.pins.items()}
            named = {plain(pin): nets for pin, nets in pins.items()}
            seen[kind] += 1
            if kind in around.kinds.number:
                self._add_cell(number, kind, named)
            elif kind in definitions and (around.kept is None or seen[kind] <= around.kept):
                self._modules.append((number, kind, named))
            elif block := around.block(kind):
                self._add_block(number, block, named)
            self._add_sinks(number, kind, pins)
        self._ports = {port: self._numbers(bits) for port, (_, bits) in definition.ports.items()}

    def inside(self, insides: Mapping[str, Inside], first_item: int, first_net: int) -> Inside:
        """Return the flattened definition, given its flattened submodules."""
        flat, children, same = self._joined(insides, self._own(first_item, first_net))
        return Inside(
            flat=flat,
            first_item=first_item,
            first_net=first_net,
            nets=self.nets,
            cells=self.cells,
            children=children,
            sinks=self.sinks,
            ports={port: [int(same[net]) for net in nets] for port, nets in self._ports.items()},
        )

    def _numbers(self, bits: Sequence[str]) -> list[int]:
        """Return the numbers of nets."""
        names = (self._definition.net(bit) for bit in bits)
        return [
            _CONSTANTS.get(name, LOW)
            if name.startswith("1'b")
            else self.nets.setdefault(name, len(self.nets))
            for name in names
        ]

    def _add_sinks(self, number: int, kind: str, pins: Mapping[str, list[int]]) -> None:
        cell = self._around.kinds.number.get(kind)
        for pin, nets in pins.items():
            if cell is not None:
                ends = plain(pin) in self._around.kinds.cells[cell].loads
            elif kind in self._definitions:
                ends = self._definitions[kind].ports[plain(pin)][0] == "input"
            else:
                block = self._around.block(kind)
                ends = block is not None and block.ports[plain(pin)][0] == "input"
            if not ends:
                continue
            for place, net in enumerate(nets):
                if net >= 0:
                    self.sinks.setdefault(net, []).append(Sink(number, pin, place))

    def _add_cell(self, number: int, kind: str, pins: Mapping[str, list[int]]) -> None:
        kinds = self._around.kinds
        row = [LOW] * kinds.most_pins
        for place, pin in enumerate(kinds.cells[kinds.number[kind]].pins):
            if nets := pins.get(pin):
                row[place] = nets[0]
        self.cells.append(number)
        self._rows.append(row)

    def _add_block(self, number: int, block: Block, pins: Mapping[str, list[int]]) -> None:
        if block.clock:
            self._memory.append(number)
            for pin, (_, width) in block.ports.items():
                self._memory_pins += pins.get(pin, [LOW] * width)
        for pin, nets in pins.items():
            its = [net for net in nets if net >= 0]
            if block.ports[pin][0] == "input":
                self._loaded += its
                self._load += [block.loads_ff.get(pin, 0.0) / self._around.unit_ff] * len(its)
                if block.clock and pin != block.clock:
                    self._ends += its
            elif block.clock:
                self._launches += its

    def _joined(
        self, insides: Mapping[str, Inside], first: Flat
    ) -> tuple[Flat, list[tuple[int, int]], Ints]:
        """Return the definition with submodules flattened, and the new number of each net."""
        own = len(self.nets)
        parts = [first]
        nets, cells = own, len(self._rows)
        children: list[tuple[int, int]] = []
        through: list[tuple[int, int]] = []
        for number, kind, pins in self._modules:
            inner = insides[kind]
            children.append((number, cells))
            to = _with_constants(nets + np.arange(inner.flat.nets))
            for port, its in pins.items():
                for net, outer in zip(inner.ports[port], its, strict=True):
                    if to[net] < nets:
                        through.append((int(to[net]), outer))
                    else:
                        to[net] = outer
            parts.append(_moved(inner.flat, to, cells))
            nets += inner.flat.nets
            cells += len(inner.flat.cell)
        same = _with_constants(np.arange(nets))
        for pair in through:
            low, high = sorted(int(same[net]) for net in pair)
            if high >= 0:
                same[same == high] = low
        joined = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in Flat.__dataclass_fields__
            if name != "nets"
        }
        for name in ("pins", "memory_pins", "launches", "ends", "loaded", "net"):
            joined[name] = same[joined[name]]
        return Flat(nets=nets, **joined), children, same

    def _own(self, first_item: int, first_net: int) -> Flat:
        """Return the definition's own contents."""
        nets = np.arange(len(self.nets))
        pins = np.array(self._rows, dtype=np.int64).reshape(-1, self._around.kinds.most_pins)
        return Flat(
            cell=first_item + np.array(self.cells, dtype=np.int64),
            pins=pins,
            nets=len(nets),
            memory=first_item + np.array(self._memory, dtype=np.int64),
            memory_pins=np.array(self._memory_pins, dtype=np.int64),
            launches=np.array(self._launches, dtype=np.int64),
            ends=np.array(self._ends, dtype=np.int64),
            loaded=np.array(self._loaded, dtype=np.int64),
            load=np.array(self._load, dtype=np.float64),
            net_of=first_net + nets,
            net=nets,
            base=np.zeros(len(nets), dtype=np.int64),
        )


def _moved(flat: Flat, to: Ints, cells: int) -> Flat:
    """Return an instance of a definition with renumbered nets, after a number of cells."""
    return Flat(
        cell=flat.cell,
        pins=to[flat.pins],
        nets=0,
        memory=flat.memory,
        memory_pins=to[flat.memory_pins],
        launches=to[flat.launches],
        ends=to[flat.ends],
        loaded=to[flat.loaded],
        load=flat.load,
        net_of=flat.net_of,
        net=to[flat.net],
        base=flat.base + cells,
    )
