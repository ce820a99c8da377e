"""Area of a mapped design, by unit and by class."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from .classes import CLASSES, UNKNOWN, Kinds, kinds_of
from .liberty import Libraries
from .mapping import Mapped
from .netlist import MappedModule

__all__ = ["Area", "AreaByClass", "AreaOfUnit", "areas"]


@dataclass(frozen=True)
class AreaOfUnit:
    """Area of a module, without its submodules.

    Parameters
    ----------
    module, unit : str
        Name of the module, and the class that it was generated from; empty for imported modules.
    count : int
        Number of instances in the design.
    area_um2, total_um2 : float
        Area of one instance and of all [um2].
    cells, flip_flops, memory_bits : int
        Cells of one instance; flip-flops are included in the cells.
    classes : dict of str to float
        Area of one instance by class [um2].
    """

    module: str
    unit: str
    count: int
    area_um2: float
    total_um2: float
    cells: int
    flip_flops: int
    memory_bits: int
    classes: dict[str, float]


@dataclass(frozen=True)
class AreaByClass:
    """Total of a class: area [um2], flip-flops within it, and memory bits beside it."""

    name: str
    area_um2: float
    share: float
    flip_flops: int
    memory_bits: int


@dataclass(frozen=True)
class Area:
    """Areas of a design; ``units`` are in descending order of area."""

    units: list[AreaOfUnit]
    classes: list[AreaByClass]

    @property
    def area_um2(self) -> float:
        """Total area of all cells [um2]."""
        return sum(unit.total_um2 for unit in self.units)

    @property
    def cells(self) -> int:
        """Total number of cells."""
        return sum(unit.count * unit.cells for unit in self.units)

    @property
    def flip_flops(self) -> int:
        """Total number of flip-flops."""
        return sum(unit.count * unit.flip_flops for unit in self.units)

    @property
    def memory_bits(self) -> int:
        """Total bits of all memories."""
        return sum(unit.count * unit.memory_bits for unit in self.units)


@dataclass(frozen=True)
class _Part:
    """Contribution of one instance of a module to a class."""

    area_um2: float
    flip_flops: int
    memory_bits: int


def areas(
    modules: dict[str, MappedModule], mapped: Mapped, libraries: Libraries, units: Mapping[str, str]
) -> Area:
    """Return the areas of a design.

    Parameters
    ----------
    modules : dict of str to MappedModule
        Its modules, each behind those in it.
    mapped : Mapped
        The design.
    libraries : Libraries
        Its cells.
    units : Mapping of str to str
        From which class a module was generated; modules that are not ours are not in it.
    """
    used: Counter[tuple[str, str | None]] = Counter({(mapped.top, None): 1})
    totals: dict[str, _Part] = {}
    counts: Counter[str] = Counter()
    shown: dict[str, dict[str, float]] = {}
    for name in reversed(modules):
        module = modules[name]
        for whole in [whole for one, whole in used if one == name]:
            count = used[name, whole]
            counts[name] += count
            kinds = kinds_of(units.get(name))
            inherited = whole or (kinds.logic if kinds.whole else None)
            effective = Kinds(inherited, inherited) if inherited else kinds
            one = _parts(module, mapped, libraries, effective)
            for label, part in one.items():
                totals[label] = _sum(totals.get(label), part, count)
            shown.setdefault(name, {label: part.area_um2 for label, part in one.items()})
            for instance in module.instances:
                used[instance.module, inherited] += count
    rows = [_unit(modules[name], mapped, libraries, units, counts[name], shown) for name in shown]
    rows.sort(key=lambda row: (-row.total_um2, row.module))
    area = sum(part.area_um2 for part in totals.values()) or 1.0
    return Area(
        rows,
        [
            AreaByClass(
                label,
                totals[label].area_um2,
                totals[label].area_um2 / area,
                totals[label].flip_flops,
                totals[label].memory_bits,
            )
            for label in (*CLASSES, UNKNOWN)
            if label in totals
        ],
    )


def _sum(before: _Part | None, part: _Part, count: int) -> _Part:
    before = before or _Part(0.0, 0, 0)
    return _Part(
        before.area_um2 + count * part.area_um2,
        before.flip_flops + count * part.flip_flops,
        before.memory_bits + count * part.memory_bits,
    )


def _parts(
    module: MappedModule, mapped: Mapped, libraries: Libraries, kinds: Kinds
) -> dict[str, _Part]:
    """Return each class's part in one instance of a module, without submodules."""
    cells = libraries.cells
    bits = sum(memory.bits for memory in mapped.memories.get(module.name, ()))
    area = {kinds.logic: sum(cells[c].area_um2 * n for c, n in module.cells.items())}
    flip_flops: Counter[str] = Counter()
    for (signal, cell), number in module.registers.items():
        label = kinds.of_register(signal)
        flip_flops[label] += number
        area[kinds.logic] -= cells[cell].area_um2 * number
        area[label] = area.get(label, 0.0) + cells[cell].area_um2 * number
    return {
        label: _Part(um2, flip_flops[label], bits if label == kinds.logic else 0)
        for label, um2 in area.items()
        if um2 > 1e-9 or flip_flops[label] or (bits and label == kinds.logic)
    }


def _unit(
    module: MappedModule,
    mapped: Mapped,
    libraries: Libraries,
    units: Mapping[str, str],
    count: int,
    shown: Mapping[str, dict[str, float]],
) -> AreaOfUnit:
    area = sum(libraries.cells[cell].area_um2 * n for cell, n in module.cells.items())
    return AreaOfUnit(
        module=module.name,
        unit=units.get(module.name, "").split(".")[-1],
        count=count,
        area_um2=area,
        total_um2=area * count,
        cells=module.cells.total(),
        flip_flops=module.registers.total(),
        memory_bits=sum(memory.bits for memory in mapped.memories.get(module.name, ())),
        classes=shown[module.name],
    )
