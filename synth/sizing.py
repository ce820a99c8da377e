"""Sizing of a whole design after its modules were mapped separately."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .buffering import bufferings
from .liberty import Libraries
from .mapping import Mapped
from .netlist import cells_area_um2, instance_counts, leaf_cells, read_netlist
from .representatives import TIMED_CELLS
from .resizing import Price, resizings
from .sizable import SizableDesign

__all__ = ["Sized", "size_design"]

_PRICE = 0.3
"""Relative clock improvement that is worth the same relative area."""

_BLURS = (0.03, 0.02, 0.01, 0.005)
"""Path length differences (relative to the clock) of weight 1/e; wide at first."""

_LATER_BLURS = (0.02, 0.005)
"""The same after some modules were remapped."""

_ROUNDS = 3
"""Rounds of sizing and buffering with the same blur."""

_PASSES = 15
"""Passes of sizing before each buffering."""

_MARGIN = 0.25
"""Relative length by which shorter paths are ignored during sizing."""

_STRUCTURES = 3
"""Rounds of remapping modules on the longest path with other structures."""

_STRUCTURE_PRICE = 1.0
"""Price of area in remapping: adders dominate an interconnect and would grow by a third."""

_SHARE = 0.1
"""Share of the longest paths from which a module is remapped."""

_WORTH = 0.01
"""Least estimated gain for trying another structure, as a fraction of the clock period."""

_LEAST = 1e-5
"""Least gain for continuing, as a fraction of the clock period."""

_FEWEST = 0.02
"""Least fraction of the changes that is tried if larger fractions make things worse."""


Again = Callable[[str], Sequence[tuple[str, tuple[float, int]]]]


@dataclass(frozen=True)
class Sized:
    """Result of sizing a design.

    Parameters
    ----------
    mapped : Mapped
        The design.
    resized, buffers : int
        Cells that have another size, and buffers that are new, in all instances.
    restructured : list of str
        Modules that are mapped in another way.
    """

    mapped: Mapped
    resized: int
    buffers: int
    restructured: list[str]


def size_design(
    mapped: Mapped,
    libraries: Libraries,
    most: int = TIMED_CELLS,
    again: Again = lambda module: [],
    progress: Callable[[str], None] = lambda text: None,
    price: float | None = None,
    enough_ns: float = 0.0,
) -> Sized:
    """Size the cells of a design for its clock, and insert buffers.

    Cells are only exchanged for others of the same function, pins and class; a change of a module
    changes all its instances. Clocks are not changed.

    Parameters
    ----------
    mapped : Mapped
        The design.
    libraries : Libraries
        Its cells.
    most : int
        Number of cells above which a few of several equal instances represent all.
    again : Callable
        Returns a module mapped with other structures, with ABC's estimates; modules on the longest
        paths may be replaced by them.
    progress : Callable
        Called with the progress.
    price : float, optional
        Share of the clock period that is worth the same share of the area, 0.3 by default.
    enough_ns : float
        Clock period at which no further module is mapped again [ns].
    """
    price = _PRICE if price is None else price
    enough = enough_ns / (libraries.files[0].time_unit_s * 1e9)
    design = SizableDesign(mapped, libraries, most)
    _size(design, _BLURS, price, progress)
    best, tried, restructured = _Best(design, mapped, []), set[str](), list[str]()
    for _ in range(_STRUCTURES):
        if best.design.graph.worst <= enough:
            break
        others = _others(design, mapped, tried, again, progress)
        if not others:
            break
        mapped, restructured = _with(mapped, libraries, others), restructured + list(others)
        design = SizableDesign(_with(design.mapped(), libraries, others), libraries, most)
        _size(design, _LATER_BLURS, price, progress)
        gain = 1 - design.graph.worst / best.design.graph.worst
        # A change without a gain of its own may gain together with the new longest path.
        if gain >= _STRUCTURE_PRICE * (design.area_um2() / best.design.area_um2() - 1):
            best = _Best(design, mapped, restructured)
    sized = best.design.mapped()
    return Sized(sized, *_changes(best.mapped, sized, libraries), sorted(best.restructured))


@dataclass(frozen=True)
class _Best:
    """The best design so far: sized, before sizing, and its remapped modules."""

    design: SizableDesign
    mapped: Mapped
    restructured: list[str]


def _others(
    design: SizableDesign,
    mapped: Mapped,
    tried: set[str],
    again: Again,
    progress: Callable[[str], None],
) -> dict[str, str]:
    """Return modules that improve with another structure, as Verilog; none is tried twice."""
    others: dict[str, str] = {}
    shares = design.shares(_BLURS[0]) if design.graph.worst else {}
    area = design.area_um2()
    for name, share in sorted(shares.items(), key=lambda pair: (-pair[1], pair[0])):
        delay_ps, _ = mapped.delays.get(name, (0.0, 0))
        if share < _SHARE or not delay_ps or name in tried:
            continue
        tried.add(name)
        progress(f"mapping {name} in other ways")
        was = cells_area_um2(design.modules[name].text, design.libraries)
        best = 0.0
        for text, (other_ps, _) in again(name):
            gain = share * (1 - other_ps / delay_ps)
            more = cells_area_um2(text, design.libraries) - was
            gain -= _STRUCTURE_PRICE * design.counts[name] * more / area
            if gain > max(best, _WORTH):
                best, others[name] = gain, text
    return others


def _with(mapped: Mapped, libraries: Libraries, others: Mapping[str, str]) -> Mapped:
    """Return a design with some modules replaced."""
    modules = read_netlist(mapped.verilog, libraries)
    text = "".join(others.get(name, module.text) for name, module in modules.items())
    return replace(mapped, verilog=text)


def _changes(before: Mapped, after: Mapped, libraries: Libraries) -> tuple[int, int]:
    """Return the number of resized cells and of new buffers."""
    was, now = (read_netlist(one.verilog, libraries) for one in (before, after))
    counts = instance_counts(was, before.top)
    resized = buffers = 0
    for name, module in was.items():
        if now[name].text != module.text:
            kinds = [kind for kind, _ in leaf_cells(module.text)]
            others = [kind for kind, _ in leaf_cells(now[name].text)]
            differ = sum(kind != other for kind, other in zip(kinds, others, strict=False))
            resized += counts[name] * differ
            buffers += counts[name] * (len(others) - len(kinds))
    return resized, buffers


def _size(
    design: SizableDesign, blurs: Sequence[float], price: float, progress: Callable[[str], None]
) -> None:
    """Optimize a design in several steps."""
    unit_ns = design.libraries.files[0].time_unit_s * 1e9
    for blur in blurs:
        for _ in range(_ROUNDS if design.graph.worst else 0):
            sized = _resize(design, blur, price)
            buffered = _buffer(design, blur, price)
            progress(f"sizing the whole design: {design.graph.worst * unit_ns:.4g} ns")
            if not sized or not buffered:
                break


def _resize(design: SizableDesign, blur: float, worth: float) -> bool:
    """Resize cells until there is no gain; return whether there was any."""
    graph, share, any_gain = design.graph, 1.0, False
    gradient = graph.gradient(blur * graph.worst)
    area = design.area_um2()
    graph.narrow(_MARGIN)
    for _ in range(_PASSES):
        price = Price(gradient.blur, worth, area)
        moves, before, gained = resizings(design, gradient, price), graph.kind, False
        area_before = design.area_um2()
        while moves and share >= _FEWEST and not gained:
            graph.kind = before.copy()
            moves = moves[: max(1, int(len(moves) * share))]
            for move in moves:
                graph.kind[move.item] = move.kind
            graph.retime()
            new = graph.gradient(gradient.blur)
            loss = (new.smooth - gradient.smooth) / gradient.smooth
            loss += worth * (design.area_um2() - area_before) / area
            gained = loss < -_LEAST
            share = min(1.0, 1.5 * share) if gained else share / 2
            if gained:
                gradient = new
            elif len(moves) == 1:
                break
        if not gained:
            graph.kind = before
            break
        any_gain = True
    graph.time()
    design.keep()
    return any_gain


def _buffer(design: SizableDesign, blur: float, worth: float) -> bool:
    """Insert buffers, as many at once as improve the clock; return whether any did."""
    gradient = design.graph.gradient(blur * design.graph.worst)
    area = design.area_um2()
    plans = bufferings(design, gradient, Price(gradient.blur, worth, area))
    tried = bool(plans)
    while plans:
        for plan in plans:
            design.insert(plan.definition, plan.net, plan.sinks, plan.kind)
        design.build()
        new = design.graph.gradient(gradient.blur)
        loss = (new.smooth - gradient.smooth) / gradient.smooth
        if loss + worth * (design.area_um2() - area) / area < -_LEAST:
            return True
        for plan in reversed(plans):
            design.take_back(plan.definition)
        plans = plans[: len(plans) // 2]
    if tried:
        design.build()
    return False
