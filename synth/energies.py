"""Energies of the cells of a library: per transition of a pin, and leakage."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fred_hw.errors import InputError

from .delays import Group, Table, cell_groups, read_table
from .liberty import COMMENTS, EDGES, Libraries, Library

__all__ = ["CellEnergy", "PinEnergy", "Units", "WireLoad", "read_energies", "units_of", "wire_load"]

_VOLTAGE = re.compile(r"\bnom_voltage\s*:\s*\"?([\d.]+)")
_VOLTAGE_UNIT = re.compile(r'\bvoltage_unit\s*:\s*"?\s*(\w+)')
_POWER = re.compile(r'\bleakage_power_unit\s*:\s*"?(\d*\.?\d*)\s*([munpf]?)W"?')
_DEFAULT_WIRES = re.compile(r"\bdefault_wire_load\s*:\s*\"?([^\s\";]+)")
_WIRES = re.compile(r"\bwire_load\s*\(\s*\"?([^\"()]+?)\"?\s*\)\s*\{([^{}]*)\}")
_LENGTH = re.compile(r"\bfanout_length\s*\(\s*\"?([\d.]+)\"?\s*,\s*\"?([\d.]+)\"?\s*\)")
_PREFIX = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}


@dataclass(frozen=True)
class PinEnergy:
    """Internal energy of a transition of a pin, in units of the library.

    Parameters
    ----------
    pin, related : str
        The pin; and for an output the input whose transition causes it, or empty.
    supply : str
        Supply pin that the energy comes from; those of several add up.
    when : str
        Condition as a function of pins, or empty.
    tables : dict of int to Table
        Energy by edge, 0 for rising, over slew and load.
    """

    pin: str
    related: str
    supply: str
    when: str
    tables: dict[int, Table]


@dataclass(frozen=True)
class CellEnergy:
    """Energies of a cell.

    Parameters
    ----------
    pins : list of PinEnergy
        Internal energies.
    leakage : list of (supply, when, value)
        Leakage in units of the library: from a supply pin, under a condition; either may be empty.
        Leakages from several supplies add up.
    """

    pins: list[PinEnergy]
    leakage: list[tuple[str, str, float]]


@dataclass(frozen=True)
class Units:
    """Supply voltage [V], and the units of leakage [W] and of capacitance [F] of a library.

    The unit of internal energies is that of capacitance times 1 V².
    """

    volts: float
    leakage_w: float
    farads: float


@dataclass(frozen=True)
class WireLoad:
    """A wire-load model: capacitance of a net by its fan-out, in units of the library.

    Parameters
    ----------
    name : str
        Its name in the library.
    capacitance, slope : float
        Capacitance of a unit of length, and length of each sink beyond those listed.
    lengths : dict of int to float
        Length of a net by the number of its sinks.
    """

    name: str
    capacitance: float
    slope: float
    lengths: dict[int, float]

    def of(self, fanout: int) -> float:
        """Return the capacitance of a net with a number of sinks."""
        if not fanout:
            return 0.0
        below = [count for count in self.lengths if count <= fanout]
        if not below:
            return self.capacitance * min(self.lengths.values(), default=self.slope * fanout)
        most = max(below)
        return self.capacitance * (self.lengths[most] + self.slope * (fanout - most))


def read_energies(libraries: Libraries, wanted: Iterable[str]) -> dict[str, CellEnergy]:
    """Return the energies of cells.

    Raises
    ------
    InputError
        No cell has a table of internal power, or one has invalid numbers.
    """
    names = sorted(set(wanted))
    found: dict[str, CellEnergy] = {}
    for library in libraries.files:
        for name, group, templates in cell_groups(library, names):
            try:
                found[name] = _cell(group, templates)
            except ValueError:
                message = "must have numbers in tables of power, one for each pair of indices"
                raise InputError(str(library.path), f"cell {name}", message) from None
    if not any(one.pins for one in found.values()):
        message = (
            f"must be in cells to compute power, not missing in all {len(names)} that are used"
        )
        raise InputError(libraries.label, "internal_power", message)
    return found


def _cell(group: Group, templates: Mapping[str, Group]) -> CellEnergy:
    pins: list[PinEnergy] = []
    for pin in group.of("pin"):
        for power in pin.of("internal_power"):
            tables = {
                edge: read_table(table, templates)
                for edge, name in enumerate(EDGES)
                for table in power.of(f"{name}_power", "power")
            }
            for related in power.values.get("related_pin", "").split() or [""]:
                supply = power.values.get("related_pg_pin", "")
                when = power.values.get("when", "")
                pins.append(PinEnergy(pin.name, related, supply, when, tables))
    leakage = [
        (
            one.values.get("related_pg_pin", ""),
            one.values.get("when", ""),
            float(one.values["value"]),
        )
        for one in group.of("leakage_power")
        if "value" in one.values
    ]
    default = float(group.values.get("cell_leakage_power", 0.0))
    return CellEnergy(pins, leakage or [("", "", default)])


def units_of(libraries: Libraries) -> Units:
    """Return the voltage and the units that all files have.

    Raises
    ------
    InputError
        A file does not state its voltage, its unit of voltage is not 1 V, or its voltage or units
        differ from those of the first file.
    """
    first, *others = libraries.files
    units = _units(first)
    for library in others:
        if _units(library) != units:
            message = f"must have the voltage and the unit of leakage of {first.path}, not others"
            raise InputError(str(library.path), "units", message)
    return units


def _units(library: Library) -> Units:
    text = COMMENTS.sub("", library.text)
    volts, power, unit = (one.search(text) for one in (_VOLTAGE, _POWER, _VOLTAGE_UNIT))
    if unit and unit[1] != "1V":
        message = f"must be 1V to compute power, not {unit[1]}"
        raise InputError(str(library.path), "voltage_unit", message)
    if not volts:
        raise InputError(str(library.path), "nom_voltage", "must be given to compute power")
    watts = float(power[1] or 1) * _PREFIX[power[2]] if power else 1e-9
    return Units(float(volts[1]), watts, library.capacitance_unit_f)


def wire_load(library: Library) -> WireLoad | None:
    """Return the wire-load model that a library uses by default; None without one."""
    default = _DEFAULT_WIRES.search(library.text)
    for name, body in _WIRES.findall(library.text) if default else ():
        if default and name == default[1]:
            values = dict(re.findall(r"\b(capacitance|slope)\s*:\s*([\d.eE+-]+)", body))
            lengths = {int(float(n)): float(length) for n, length in _LENGTH.findall(body)}
            slope = float(values.get("slope", 0.0))
            return WireLoad(name, float(values.get("capacitance", 0.0)), slope, lengths)
    return None
