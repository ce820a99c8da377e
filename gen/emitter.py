"""Verilog of a hierarchy of units, each distinct module written once."""

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from amaranth.back import rtlil
from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Fragment,
    Instance,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import In

from fred_hw.progress import parts
from fred_hw.unit import Unit

from .contract import origin
from .halves import made_in_halves
from .layout import commented, laid_out
from .names import with_names
from .yosys import run_yosys

__all__ = ["VerilogEmitter"]

# Attributes that record the generation; without them the text depends only on the hardware.
_ATTRIBUTES = (
    *("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding"),
    *("init", "full_case", "parallel_case", "unused_bits"),
)

# A register, as Amaranth writes it.
_REGISTER = re.compile(r"^  attribute \\init .*\n  wire .*?(\S+)$", re.MULTILINE)

# The contents of a memory without given contents; an SRAM has none before it is written.
_NO_CONTENTS = re.compile(
    r"^  cell \$meminit_v2 (?:(?!^  end$).)*?connect \\DATA \d+'0+\n.*?^  end\n",
    re.MULTILINE | re.DOTALL,
)

# Work of each step, in assigned bits, measured on switches of 4 to 12 ports: the conversion of a
# statement in Amaranth relative to that of its bits, and the work of Yosys up to each of its
# passes, per bit of the whole design.
_STATEMENT_BITS = 50
_YOSYS_BITS = {"": 0.16, "OPT_CLEAN": 0.25}

_WORTH_A_COPY = 500_000
"""Conversion size in bits from which a second process pays off, about ten seconds."""

_Ports = dict[str, tuple[Value | None, None]]


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
        self._elaborated: dict[str, tuple[Fragment, _Ports]] = {}
        self._rtlil: dict[str, str] = {}
        self.units: dict[str, str] = {}
        self._sources: dict[str, Unit] = {}
        self.instances: dict[str, dict[str, int]] = {}
        self._open: list[str] = []
        self._converting: Unit | None = None
        self._domain: ClockDomain | None = None

    @property
    def modules(self) -> list[str]:
        """Names of the modules, each after those it contains."""
        return list(self._elaborated)

    def instantiate(self, unit: Unit) -> Instance | Module:
        """Return an instance of the module of ``unit``, which is emitted if necessary.

        The unit under conversion gets its own contents instead.
        """
        if unit is self._converting:
            module = unit.built()
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
        """Emit the module of ``unit`` and of all units inside, unless already emitted."""
        name = unit.unit_name
        if name in self._elaborated:
            return
        self.instances[name] = {}
        self._open.append(name)
        self.units[name] = f"{type(unit).__module__}.{type(unit).__qualname__}"
        source = self._substitute(unit) if self._substitute else unit
        self._sources[name] = unit
        outer = self._converting, self._domain
        self._converting, self._domain = source, None
        ports: _Ports = {port: (value, None) for port, value, _ in _ports(source)}
        if source.clocked:
            self._domain = domain = ClockDomain("sync", reset_less=not source.resettable)
            ports["clk"] = (domain.clk, None)
            if source.resettable:
                ports["rst"] = (domain.rst, None)
        fragment = Fragment.get(source, self)
        self._converting, self._domain = outer
        self._open.pop()
        self._elaborated[name] = fragment, ports

    def count(self, top: str) -> dict[str, int]:
        """Return how often each module occurs in the hierarchy below ``top``."""
        totals = dict.fromkeys(self._elaborated, 0)
        totals[top] = 1
        for name in reversed(self._elaborated):  # parents come after their children
            for child, number in self.instances[name].items():
                totals[child] += totals[name] * number
        return totals

    def verilog(self) -> str:
        """Return the text of all modules, deterministic for given units and tool versions."""
        removals = " ".join(f"-remove {name}" for name in _ATTRIBUTES)
        sizes = {name: _bits(fragment) for name, (fragment, _) in self._elaborated.items()}
        yosys = {name: round(share * sum(sizes.values())) for name, share in _YOSYS_BITS.items()}
        with parts("bits", sum(sizes.values()) + sum(yosys.values())) as begin:
            todo = {name: size for name, size in sizes.items() if name not in self._rtlil}
            if sum(todo.values()) < _WORTH_A_COPY:
                for name, size in todo.items():
                    begin(size)
                    self._rtlil[name] = self._converted(name)
            else:
                self._rtlil |= made_in_halves(todo, self._converted, begin)
            script = [
                "proc",
                "opt_clean -purge",
                f"attrmap {removals}",
                f"attrmap -modattr {removals}",
            ]
            begin(yosys[""])
            clean = run_yosys(
                (self._rtlil[name] for name in self._elaborated),
                script,
                "write_rtlil",
                lambda name: begin(yosys[name]) if name in yosys else None,
            )
            # Only then all nets exist that need a name.
            verilog = run_yosys(
                [with_names(clean)], [], "write_verilog -norename -attr2comment", lambda _: None
            )
        return laid_out(commented(verilog, self._sources))

    def _converted(self, name: str) -> str:
        """Return the RTLIL of a module."""
        fragment, ports = self._elaborated[name]
        with _no_collection(), _named_like(ports):
            text, names = rtlil.convert_fragment(fragment, ports, name, emit_src=False)
        inside = {path[-1]: signal.src_loc for signal, path in names.items()}
        # The header of the module describes its ports.
        places = {net: place for net, place in inside.items() if net not in ports}

        def placed(found: re.Match[str]) -> str:
            part = origin(*places[found[1][1:]]) if found[1][1:] in places else ""
            return f'  attribute \\part "{part}"\n{found[0]}' if part else found[0]

        return _REGISTER.sub(placed, _NO_CONTENTS.sub("", text))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection, which takes a fifth of the conversion time and frees nothing."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def _named_like(ports: _Ports) -> Iterator[None]:
    """Name the signals at the ports of a unit like its ports.

    Outside, ``place`` names them after the instance. A unit inside may have an instance of that
    name too, and the nets of the two would then only differ by a number.
    """
    signals = [(name, value) for name, (value, _) in ports.items() if isinstance(value, Signal)]
    outside = [signal.name for _, signal in signals]
    for name, signal in signals:
        signal.name = name
    try:
        yield
    finally:
        for (_, signal), name in zip(signals, outside, strict=True):
            signal.name = name


def _bits(fragment: Fragment) -> int:
    """Return the size of a conversion: assigned bits, plus a cost per statement."""
    total, todo = 0, [fragment]
    while todo:
        one = todo.pop()
        todo += [inner for inner, *_ in one.subfragments]
        statements = [statement for group in one.statements.values() for statement in group]
        while statements:
            statement = statements.pop()
            total += _STATEMENT_BITS + len(getattr(statement, "lhs", ()))
            for _, inside, *_ in getattr(statement, "cases", ()):
                statements += inside
    return total


def _ports(unit: Unit) -> list[tuple[str, Value, str]]:
    """Return name, value and direction ("i" or "o") of each port, with members joined by ``__``."""
    return [
        ("__".join(str(part) for part in path), Value.cast(value), "i" if m.flow == In else "o")
        for path, m, value in unit.signature.flatten(unit)
    ]
