"""Verilog text of a hierarchy of units, each distinct module written once."""

import re
from collections.abc import Callable

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, Instance, Module, ResetSignal, Value
from amaranth.lib.wiring import In

from fred_hw.progress import count
from fred_hw.unit import Unit

from .names import with_names

__all__ = ["VerilogEmitter"]

# Attributes that tell how the text came about; without them it depends on the hardware alone.
_ATTRIBUTES = ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding", "init")

# The contents of a memory for which none were given; an SRAM has none before it is written.
_NO_CONTENTS = re.compile(
    r"^  cell \$meminit_v2 (?:(?!^  end$).)*?connect \\DATA \d+'0+\n.*?^  end\n",
    re.MULTILINE | re.DOTALL,
)


class VerilogEmitter:
    """Collect units and write them as Verilog; see :class:`fred_hw.unit.Emitter`.

    Amaranth writes one module per instance, so text and time grow with the instances. Here each
    distinct unit is converted alone, its submodules as instances, and Yosys writes all at once.
    A memory has initial contents only if some of them are not 0.

    Parameters
    ----------
    substitute : callable, optional
        Gives the unit to emit in place of one, under its name and with its ports; benches put
        faults into the hardware with it.
    """

    def __init__(self, substitute: Callable[[Unit], Unit] | None = None) -> None:
        self._substitute = substitute
        self._rtlil: dict[str, str] = {}
        self.units: dict[str, str] = {}
        self.instances: dict[str, dict[str, int]] = {}
        self._open: list[str] = []
        self._converting: Unit | None = None
        self._domain: ClockDomain | None = None

    @property
    def modules(self) -> list[str]:
        """Names of the modules, each behind those that it contains."""
        return list(self._rtlil)

    def instantiate(self, unit: Unit) -> Instance | Module:
        """Return an instance of the module of ``unit``, which is emitted if it was not yet.

        The unit under conversion gets its own contents instead.
        """
        if unit is self._converting:
            module = unit.build(self)
            if self._domain is not None:
                module.domains += self._domain
            return module
        name = unit.unit_name
        self.add(unit)
        if self._open:
            count = self.instances[self._open[-1]]
            count[name] = count.get(name, 0) + 1
        arguments: list[tuple[str, str, object]] = []
        if unit.clocked:
            arguments.append(("i", "clk", ClockSignal()))
        if unit.resettable:
            arguments.append(("i", "rst", ResetSignal()))
        for port, value, direction in _ports(unit):
            arguments.append((direction, port, value))
        return Instance(name, *arguments)

    def add(self, unit: Unit) -> None:
        """Emit the module of ``unit`` and of all units in it, unless they are there already."""
        name = unit.unit_name
        if name in self._rtlil:
            return
        self.instances[name] = {}
        self._open.append(name)
        self.units[name] = f"{type(unit).__module__}.{type(unit).__qualname__}"
        source = self._substitute(unit) if self._substitute else unit
        outer = self._converting, self._domain
        self._converting, self._domain = source, None
        ports: dict[str, tuple[Value | None, None]] = {
            port: (value, None) for port, value, _ in _ports(source)
        }
        if source.clocked:
            self._domain = domain = ClockDomain("sync", reset_less=not source.resettable)
            ports["clk"] = (domain.clk, None)
            if source.resettable:
                ports["rst"] = (domain.rst, None)
        text = rtlil.convert(source, name=name, platform=self, ports=ports, emit_src=False)
        self._converting, self._domain = outer
        self._open.pop()
        self._rtlil[name] = _NO_CONTENTS.sub("", text)
        count("units", len(self._rtlil))

    def count(self, top: str) -> dict[str, int]:
        """Return how often each module stands in the whole hierarchy below ``top``."""
        totals = dict.fromkeys(self._rtlil, 0)
        totals[top] = 1
        for name in reversed(self._rtlil):  # parents stand behind their children
            for child, number in self.instances[name].items():
                totals[child] += totals[name] * number
        return totals

    def verilog(self) -> str:
        """Return the text of all modules, deterministic for the same units and tool versions."""
        removals = " ".join(f"-remove {name}" for name in _ATTRIBUTES)
        script = [f"read_rtlil <<rtlil\n{text}\nrtlil" for text in self._rtlil.values()]
        script += [
            "proc",
            "opt_clean -purge",
            f"attrmap {removals}",
            f"attrmap -modattr {removals}",
            "write_verilog -norename -noattr",
        ]
        yosys = find_yosys(lambda version: version >= (0, 40))
        return with_names(yosys.run(["-q", "-"], "\n".join(script), ignore_warnings=True))


def _ports(unit: Unit) -> list[tuple[str, Value, str]]:
    """Return name, value and direction ("i" or "o") of each port, members joined by ``__``."""
    return [
        ("__".join(str(part) for part in path), Value.cast(value), "i" if m.flow == In else "o")
        for path, m, value in unit.signature.flatten(unit)
    ]
