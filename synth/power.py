"""Power of a mapped design: energies of its cells times the activity of its nets.

Internal energies and leakage are those of the library, at the slews and loads of the design; a net
takes half of its capacitance times the square of the voltage for each transition. The formulas are
those of Liberty's user guide. OpenSTA 2.0.17 is not used: it replaces the activity of pins by its
own estimate, and its internal power is twice too high at outputs and clocks.
"""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass

import numpy as np

from .activity import Activity
from .boolean import truth_table
from .classes import CLASSES, UNKNOWN
from .delays import Floats, Ints, look_up
from .energies import PinEnergy, WireLoad, read_energies, units_of, wire_load
from .gate_level import CONSTANTS, Gates

__all__ = ["CLOCK", "Power", "PowerModel", "Watts"]

CLOCK = "clock"
"""Class of clock pins: their internal power and capacitance, without the cells of a clock tree."""


@dataclass(frozen=True)
class Watts:
    """Power of a part of a design [W].

    Parameters
    ----------
    internal_w, switching_w, leakage_w : float
        Within cells per transition, at the pins of nets, and without any transition.
    wires_w : float
        What wires add, by the wire-load model; not included in ``total_w``.
    """

    internal_w: float
    switching_w: float
    leakage_w: float
    wires_w: float

    @property
    def total_w(self) -> float:
        """Internal, switching and leakage power [W]."""
        return self.internal_w + self.switching_w + self.leakage_w

    def __add__(self, other: "Watts") -> "Watts":
        """Return the power of both."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Watts(*(one + more for one, more in pairs))

    def to_dict(self) -> dict[str, float]:
        """Return all powers as JSON values."""
        return {**asdict(self), "total_w": self.total_w}


@dataclass(frozen=True)
class Power:
    """Power of a design under a workload.

    Parameters
    ----------
    total : Watts
        The whole design.
    classes, modules : dict of str to Watts
        By class of hardware, and by module without the modules in it; modules with the most power
        first. Clock pins are a class of their own, but count in their modules.
    """

    total: Watts
    classes: dict[str, Watts]
    modules: dict[str, Watts]

    def __add__(self, other: "Power") -> "Power":
        """Return the power of two parts of a design."""
        classes = _added(self.classes, other.classes)
        modules = _added(self.modules, other.modules)
        return Power(self.total + other.total, classes, _most_first(modules))


class PowerModel:
    """Energies of all cells of a mapped design.

    Parameters
    ----------
    gates : Gates
        The design.

    Raises
    ------
    InputError
        The library has no energies or no voltage, or a table of energies has invalid numbers.
    """

    def __init__(self, gates: Gates) -> None:
        libraries = gates.design.libraries
        self.gates, self.libraries = gates, libraries
        self.units = units_of(libraries)
        self.wires: WireLoad | None = wire_load(libraries.files[0])
        self._energies = read_energies(libraries, {cell.kind for cell in gates.cells})
        self._pins = gates.design.graph.flat.pins + CONSTANTS
        self._load_nets()
        self._modules = sorted({cell.module for cell in gates.cells})
        number = {name: place for place, name in enumerate(self._modules)}
        self._module = np.array([number[cell.module] for cell in gates.cells], dtype=np.int64)
        self._labels = (*CLASSES, UNKNOWN, CLOCK)
        self._label = np.array([self._labels.index(c.label) for c in gates.cells], dtype=np.int64)
        self._of_kind: dict[str, list[int]] = {}
        for place, cell in enumerate(gates.cells):
            self._of_kind.setdefault(cell.kind, []).append(place)

    def _load_nets(self) -> None:
        """Find slews and loads, by the timing graph, and the fan-out of each net."""
        nets, graph = self.gates.nets, self.gates.design.graph
        self._slew, self._load = np.zeros((2, nets)), np.zeros(nets)
        self._fanout = np.zeros(nets, dtype=np.int64)
        timed = slice(CONSTANTS, CONSTANTS + graph.flat.nets)
        self._slew[:, timed] = graph.node_slew[:-1].reshape(-1, 2).T
        self._load[timed] = graph.node_load[:-1].reshape(-1, 2).mean(axis=1)
        sinks = self._pins[graph.kinds.is_input[graph.kind[graph.flat.cell]]]
        np.add.at(self._fanout, sinks, 1)
        for _, pins in self.gates.memories:
            for pin, its in pins.items():
                if pin != "RDATA":
                    np.add.at(self._fanout, its, 1)

    def power(self, activity: Activity, clock_ns: float) -> Power:
        """Return the power of the design.

        Parameters
        ----------
        activity : Activity
            Activity of its nets.
        clock_ns : float
            Clock period [ns].
        """
        toggles, high = activity.toggles.copy(), activity.high.copy()
        toggles[:CONSTANTS] = 0.0
        high[:CONSTANTS] = 0.0, 1.0
        clocks = self._clock_nets()
        toggles[clocks], high[clocks] = 2.0, 0.5
        count = len(self.gates.cells)
        internal, clocked, leakage = np.zeros(count), np.zeros(count), np.zeros(count)
        driven = np.zeros((2, count))
        for kind, cells in self._of_kind.items():
            rows = np.array(cells)
            nets = self._nets(kind, rows)
            cell = self.libraries.cells[kind]
            energy = self._internal(kind, nets, toggles, high)
            for pin, values in energy.items():
                (clocked if pin in cell.clocks else internal)[rows] += values
            leakage[rows] = self._leakage(kind, nets, high)
            for pin in cell.outputs:
                driven[0, rows] += toggles[nets[pin]] * self._load[nets[pin]]
                driven[1, rows] += toggles[nets[pin]] * self._wire(nets[pin])
        hertz = 1e9 / clock_ns
        per_energy = self.units.farads * hertz
        half = 0.5 * self.units.volts**2 * per_energy
        at_clock = toggles[clocks] * half
        clock_net = Watts(
            0.0,
            float((at_clock * self._load[clocks]).sum()) if self._external(clocks) else 0.0,
            0.0,
            float((at_clock * self._wire(clocks)).sum()) if self._external(clocks) else 0.0,
        )
        leakage_w = leakage * self.units.leakage_w
        parts = np.array([internal * per_energy, *(driven * half), leakage_w, clocked * per_energy])
        return self._summed(parts, clock_net)

    def _nets(self, kind: str, rows: Ints) -> dict[str, Ints]:
        """Return the net of each pin of equal cells."""
        kinds = self.gates.design.kinds
        pins = kinds.cells[kinds.number[kind]].pins
        return {pin: self._pins[rows, place] for place, pin in enumerate(pins)}

    def _clock_nets(self) -> Ints:
        nets = [
            self._nets(kind, np.array(rows))[pin]
            for kind, rows in self._of_kind.items()
            for pin in self.libraries.cells[kind].clocks
        ]
        found = np.unique(np.concatenate(nets)) if nets else np.zeros(0, dtype=np.int64)
        return found[found >= CONSTANTS]

    def _external(self, clocks: Ints) -> bool:
        """Return whether the clock comes from a port, so that no cell drives its net."""
        return self.gates.inputs.get("clk", [-1])[0] in clocks

    def _wire(self, nets: Ints) -> Floats:
        """Return the capacitance of the wires of nets, in units of the library."""
        if self.wires is None:
            return np.zeros(len(nets))
        sizes = np.unique(self._fanout[nets])
        values = np.array([self.wires.of(int(size)) for size in sizes])
        return values[np.searchsorted(sizes, self._fanout[nets])]

    def _internal(
        self, kind: str, nets: Mapping[str, Ints], toggles: Floats, high: Floats
    ) -> dict[str, Floats]:
        """Return the internal energy per cycle of equal cells, by pin."""
        groups: dict[tuple[str, str], dict[str, list[PinEnergy]]] = {}
        for one in self._energies[kind].pins:
            if one.pin in nets:
                cause = one.related if one.related in nets else one.pin
                by_cause = groups.setdefault((one.pin, one.supply), {})
                by_cause.setdefault(cause, []).append(one)
        found: dict[str, Floats] = {}
        for (pin, _), causes in groups.items():
            energies, weights = [], []
            for cause, many in causes.items():
                slews, loads = self._slew[:, nets[cause]], self._load[nets[pin]]
                given = [self._transition(one, slews, loads) for one in many]
                shares = [self._share(kind, one.when, nets, high) for one in many]
                energies.append(_mean(given, shares))
                weights.append(toggles[nets[cause]])
            energy = toggles[nets[pin]] * _mean(energies, weights)
            found[pin] = found.get(pin, 0.0) + np.where(nets[pin] >= CONSTANTS, energy, 0.0)
        return found

    def _transition(self, one: PinEnergy, slews: Floats, loads: Floats) -> Floats:
        """Return the mean energy of a rising and a falling transition."""
        both = [
            look_up(one.tables[edge], slews[edge], loads) if edge in one.tables else 0.0 * loads
            for edge in (0, 1)
        ]
        return (both[0] + both[1]) / 2

    def _leakage(self, kind: str, nets: Mapping[str, Ints], high: Floats) -> Floats:
        """Return the leakage of equal cells, in units of the library."""
        size = len(next(iter(nets.values())))
        by_supply: dict[str, tuple[list[Floats], list[Floats]]] = {}
        for supply, when, value in self._energies[kind].leakage:
            values, shares = by_supply.setdefault(supply, ([], []))
            values.append(np.full(size, value))
            shares.append(self._share(kind, when, nets, high))
        return np.sum([_mean(*many) for many in by_supply.values()], axis=0)

    def _share(self, kind: str, when: str, nets: Mapping[str, Ints], high: Floats) -> Floats:
        """Return how probable a condition is, if pins are independent of each other."""
        names = [pin for pin in nets if pin in when]
        size = len(next(iter(nets.values())))
        table = truth_table(when, names) if when else None
        if table is None:
            return np.ones(size)
        share = np.zeros(size)
        for row, true in enumerate(table):
            if true:
                product = np.ones(size)
                for place, pin in enumerate(names):
                    is_high = high[nets[pin]]
                    product *= is_high if row >> place & 1 else 1 - is_high
                share += product
        return share

    def _summed(self, parts: Floats, clock_net: Watts) -> Power:
        """Return power by class and module, given that of each cell by kind of power."""

        def watts(cells: np.ndarray, clocked: float) -> Watts:
            internal, switching, wires, leakage, _ = parts[:, cells].sum(axis=1)
            return Watts(float(internal + clocked), float(switching), float(leakage), float(wires))

        classes = {
            name: watts(self._label == place, 0.0)
            for place, name in enumerate(self._labels)
            if (self._label == place).any()
        }
        clocked = float(parts[4].sum())
        classes[CLOCK] = Watts(clocked, clock_net.switching_w, 0.0, clock_net.wires_w)
        modules = {
            name: watts(self._module == place, float(parts[4, self._module == place].sum()))
            for place, name in enumerate(self._modules)
        }
        total = Watts(
            *(
                sum(getattr(one, name) for one in classes.values())
                for name in ("internal_w", "switching_w", "leakage_w", "wires_w")
            )
        )
        return Power(total, classes, _most_first(modules))


def _added(one: Mapping[str, Watts], other: Mapping[str, Watts]) -> dict[str, Watts]:
    """Return the power of each name in either part."""
    none = Watts(0.0, 0.0, 0.0, 0.0)
    return {name: one.get(name, none) + other.get(name, none) for name in {**one, **other}}


def _most_first(modules: Mapping[str, Watts]) -> dict[str, Watts]:
    return dict(sorted(modules.items(), key=lambda one: -one[1].total_w))


def _mean(values: list[Floats], weights: list[Floats]) -> Floats:
    """Return the weighted mean of arrays, the plain one where all weights are 0."""
    weight = np.array(weights)
    weight = np.where(weight.sum(axis=0) > 0, weight, 1.0)
    return (np.array(values) * weight).sum(axis=0) / weight.sum(axis=0)
