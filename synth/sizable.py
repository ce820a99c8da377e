"""A mapped design with exchangeable cells and insertable buffers."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from .blocks import memory_block
from .definitions import Definition, Sink, plain
from .delays import Ints, read_delays
from .flat import Cache, Surroundings, flatten
from .graph import TimingGraph
from .kinds import Kinds
from .liberty import Libraries
from .mapping import Mapped
from .netlist import instance_counts, read_netlist
from .representatives import representatives

__all__ = ["SizableDesign"]

_BUFFER = (False, True)


class SizableDesign:
    """A mapped design; a change of a module applies to all of its instances.

    Parameters
    ----------
    mapped : Mapped
        The design.
    libraries : Libraries
        Its cells.
    most : float
        Cells beyond which a few of equal instances stand for all.
    """

    def __init__(self, mapped: Mapped, libraries: Libraries, most: float = inf) -> None:
        self._mapped, self.libraries, self.top = mapped, libraries, mapped.top
        self.modules = read_netlist(mapped.verilog, libraries)
        self.definitions = {name: Definition(one) for name, one in self.modules.items()}
        self.counts = instance_counts(self.modules, mapped.top)
        buffers = [
            name for name, cell in libraries.cells.items() if cell.usable and cell.computes(_BUFFER)
        ]
        used = {cell for module in self.modules.values() for cell in module.cells}
        self.kinds = Kinds(read_delays(libraries, used | set(buffers)))
        self.buffers = sorted(self.kinds.number[name] for name in buffers)
        self.memories = {one.kind: one for its in mapped.memories.values() for one in its}
        self.around = self._surroundings(most)
        self._clock_nets = {
            name: {
                definition.net(bit) for port in module.clocks for bit in definition.ports[port][1]
            }
            for (name, definition), module in zip(
                self.definitions.items(), self.modules.values(), strict=True
            )
        }
        self._first = {name: self._numbers(one) for name, one in self.definitions.items()}
        self._kind = {name: kinds.copy() for name, kinds in self._first.items()}
        self._cache: Cache = {}
        self.build()

    def _surroundings(self, most: float) -> Surroundings:
        load_ff = max(self.libraries.nand2.inputs.values())
        timed = representatives(self.modules, self.top, self.libraries, load_ff, most)
        blocks = [*timed.blocks, *(memory_block(one, load_ff) for one in self.memories.values())]
        unit_ff = self.libraries.files[0].capacitance_unit_f * 1e15
        return Surroundings(self.kinds, {one.name: one for one in blocks}, timed.kept, unit_ff)

    def _numbers(self, definition: Definition) -> list[int]:
        return [self.kinds.number.get(plain(item.kind), -1) for item in definition.items]

    def build(self) -> None:
        """Rebuild all paths after nets have changed."""
        flat, self.insides = flatten(
            self.definitions, self.top, self.modules[self.top].clocks, self.around, self._cache
        )
        kind = np.array([one for its in self._kind.values() for one in its], dtype=np.int64)
        count = [self.counts[name] for name, its in self._kind.items() for _ in its]
        self.count = np.array(count, dtype=np.float64)
        self._names = list(self.insides)
        self._items = [inside.first_item for inside in self.insides.values()]
        self._nets = [inside.first_net for inside in self.insides.values()]
        self._labels = {name: list(inside.nets) for name, inside in self.insides.items()}
        self.graph = TimingGraph(flat, self.kinds, kind)
        self.graph.time()

    def keep(self) -> None:
        """Adopt the cell sizes of the timing graph."""
        for (name, its), first in zip(self._kind.items(), self._items, strict=True):
            self._kind[name] = self.graph.kind[first : first + len(its)].tolist()

    def area_um2(self, kind: Ints | None = None) -> float:
        """Return the area of all cells of all instances [um2]."""
        kind = self.graph.kind if kind is None else kind
        return float((self.count * np.where(kind >= 0, self.kinds.area[kind], 0.0)).sum())

    def nets_of(self, item: int) -> set[int]:
        """Return the nets of an item (numbered over all definitions), without clocks."""
        name = self._names[_place(self._items, item)]
        inside, definition = self.insides[name], self.definitions[name]
        nets = {
            definition.net(bit)
            for bits in definition.items[item - inside.first_item].pins.values()
            for bit in bits
        }
        nets -= self._clock_nets[name]
        return {inside.first_net + inside.nets[net] for net in nets if net in inside.nets}

    def net(self, number: int) -> tuple[str, int, str]:
        """Return definition, local number and name of a net numbered over all definitions."""
        name = self._names[_place(self._nets, number)]
        local = number - self.insides[name].first_net
        return name, local, self._labels[name][local]

    def may_have_buffers(self, name: str, net: str, sinks: Sequence[Sink]) -> bool:
        """Return whether a net may be buffered: clocks may not."""
        if net in self._clock_nets[name]:
            return False
        items = self.definitions[name].items
        return not any(plain(s.pin) in self._clocks(plain(items[s.item].kind)) for s in sinks)

    def _clocks(self, kind: str) -> set[str]:
        if cell := self.libraries.cells.get(kind):
            return cell.clocks
        return self.modules[kind].clocks if kind in self.modules else {"CLK"}

    def insert(self, name: str, net: str, sinks: Sequence[Sink], kind: int) -> None:
        """Insert a buffer into a definition; paths must be rebuilt afterwards."""
        cell = self.kinds.cells[kind]
        (i, o) = cell.pins
        self.definitions[name].insert(net, sinks, cell.name, (i, o))
        self._kind[name].append(kind)

    def take_back(self, name: str) -> None:
        """Remove the last buffer of a definition."""
        self.definitions[name].take_back()
        self._kind[name].pop()

    def shares(self, blur: float) -> dict[str, float]:
        """Return the share of the longest paths inside each module.

        Paths shorter by ``blur`` than the longest count an e-th, a share of the clock.
        """
        graph = self.graph
        gradient = graph.gradient(blur * graph.worst)
        item = graph.flat.cell[graph.arc_cell]
        share = np.bincount(item, gradient.arc * graph.found.delay, minlength=len(graph.kind))
        ends = [*self._items[1:], len(graph.kind)]
        return {
            name: float(share[first:end].sum()) / graph.worst
            for name, first, end in zip(self._names, self._items, ends, strict=True)
        }

    def mapped(self) -> Mapped:
        """Return the current design."""
        parts = []
        for name, definition in self.definitions.items():
            first, its = self._first[name], self._kind[name]
            if its == first:
                parts.append(self.modules[name].text)
                continue
            for item, kind in zip(definition.items, its, strict=True):
                if kind >= 0 and plain(item.kind) != self.kinds.cells[kind].name:
                    item.kind = self.kinds.cells[kind].name
            parts.append(definition.text())
        return replace(self._mapped, verilog="".join(parts))


def _place(firsts: Sequence[int], number: int) -> int:
    """Return the definition that a number belongs to."""
    return int(np.searchsorted(firsts, number, side="right")) - 1
