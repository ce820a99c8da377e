"""Power of a design whose ports, or those of its parts, were recorded in co-simulation.

A mesh of 64 routers has millions of cells, but few kinds of routers. Each router is replayed on the
netlist of its own module, with the ports that were recorded at this router. The power of the mesh
is the sum over its routers. Gates between them in the top module are left out, and an output of a
router is not loaded by the inputs of the next one.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add

from .activity import Trace, replay
from .gate_level import gate_level
from .liberty import Libraries
from .mapping import Mapped
from .netlist import MappedModule, instance_counts, read_netlist
from .power import Power, PowerModel
from .sizable import SizableDesign

__all__ = ["ReplayedParts"]


class ReplayedParts:
    """Energies of a mapped design, or of the instances in its top module.

    Parameters
    ----------
    mapped, libraries : Mapped, Libraries
        The design, and its cells.
    units : Mapping of str to str
        Class of this package from which each module was generated.
    apart : bool
        Whether each instance in the top module is replayed on its own.

    Raises
    ------
    InputError
        As for ``gate_level`` and ``PowerModel``.
    """

    def __init__(
        self, mapped: Mapped, libraries: Libraries, units: Mapping[str, str], *, apart: bool
    ) -> None:
        modules = read_netlist(mapped.verilog, libraries)
        inside = modules[mapped.top].instances
        self._parts = {f"{one.name}.": one.module for one in inside} if apart else {"": mapped.top}
        self._models = {
            name: PowerModel(
                gate_level(SizableDesign(_of_module(mapped, modules, name), libraries), units)
            )
            for name in dict.fromkeys(self._parts.values())
        }
        first = self._models[self._parts[next(iter(self._parts))]]
        self.volts = first.units.volts
        self.wire_load = first.wires.name if first.wires else None

    @property
    def ports(self) -> list[str]:
        """Ports to record, without clocks: ``port`` or ``instance.port``."""
        return [
            f"{prefix}{port}"
            for prefix, module in self._parts.items()
            for port in self._ports(module)
        ]

    @property
    def modules(self) -> dict[str, list[str]]:
        """Ports to record of each module whose instances are replayed apart, without clocks."""
        return {} if "" in self._parts else {name: self._ports(name) for name in self._models}

    def _ports(self, module: str) -> list[str]:
        gates = self._models[module].gates
        return [port for port in (*gates.inputs, *gates.outputs) if port != "clk"]

    def power(self, recorded: Trace, clock_ns: float) -> Power:
        """Return the power under recorded values of ``ports``.

        Parameters
        ----------
        recorded : Trace
            Values of ``ports``.
        clock_ns : float
            Clock period [ns].

        Raises
        ------
        InputError
            As for ``replay``; the label of the trace is followed by the instance.
        """
        return reduce(
            add,
            (
                self._models[module].power(
                    replay(self._models[module].gates, _at(recorded, prefix)), clock_ns
                )
                for prefix, module in self._parts.items()
            ),
        )


def _of_module(mapped: Mapped, modules: Mapping[str, MappedModule], top: str) -> Mapped:
    """Return the netlist of a module and of the modules in it."""
    counts = instance_counts(modules, top)
    text = "".join(one.text for name, one in modules.items() if counts[name])
    return replace(mapped, top=top, verilog=text)


def _at(recorded: Trace, prefix: str) -> Trace:
    """Return what was recorded at an instance."""
    values = {
        name.removeprefix(prefix): its
        for name, its in recorded.values.items()
        if name.startswith(prefix)
    }
    label = f"{recorded.label} at {prefix[:-1]}" if prefix else recorded.label
    return replace(recorded, label=label, values=values)
