"""Reader of mapped Verilog: cells and submodules of each module."""

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from .liberty import Libraries

__all__ = [
    "INSTANCE",
    "PIN",
    "Instance",
    "MappedModule",
    "cells_area_um2",
    "instance_counts",
    "leaf_cells",
    "plain_names",
    "read_netlist",
    "signal_of",
]

_MODULE = re.compile(r"^module (?:\\(\S+) |([\w$]+)) ?\(.*?^endmodule\n", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"^  (input|output|inout) (?:\[(\d+):(\d+)\] )?(\\\S+ |[\w$]+);", re.MULTILINE)
INSTANCE = re.compile(
    r"^  (\\\S+ |[\w$]+) (\\\S+ |[\w$]+) \(\n((?:    \..*\n)*)  \);", re.MULTILINE
)
PIN = re.compile(r"^    \.(\\\S+ |[\w$]+)\((.*)\),?$", re.MULTILINE)
_LETTERS = str.maketrans("0123456789", "abcdefghij")
_REGISTER = re.compile(r"_reg(?:_\d+)?x*$")


@dataclass(frozen=True)
class Instance:
    """An instance of a module, or of a memory, in another module."""

    module: str
    name: str
    pins: dict[str, str]


@dataclass
class MappedModule:
    """Contents of a module without its submodules.

    Parameters
    ----------
    name : str
        Name of the module.
    text : str
        Its Verilog.
    ports : dict of str to (way, width)
        Its ports, "input", "output" or "inout", width in bits.
    cells : Counter of str
        Number of each cell of the library.
    registers : Counter of (signal, cell)
        Number of flip-flops of each kind for each signal.
    instances : list of Instance
        Modules and memories in it.
    clocks : set of str
        Ports connected to clock pins of flip-flops, also through inverters and buffers.
    inverted : dict of str to str
        For each net driven by an inverter or a buffer, the net at its input.
    """

    name: str
    text: str
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)
    cells: Counter[str] = field(default_factory=Counter)
    registers: Counter[tuple[str, str]] = field(default_factory=Counter)
    instances: list[Instance] = field(default_factory=list)
    clocks: set[str] = field(default_factory=set)
    inverted: dict[str, str] = field(default_factory=dict)


def read_netlist(verilog: str, libraries: Libraries) -> dict[str, MappedModule]:
    """Return the modules of mapped Verilog by name, each after its submodules.

    Clock ports are followed through the hierarchy.
    """
    read = [_read(match[1] or match[2], match[0], libraries) for match in _MODULE.finditer(verilog)]
    found = {module.name: module for module in read}
    modules: dict[str, MappedModule] = {}

    def add(module: MappedModule) -> None:
        for instance in module.instances:
            if instance.module in found and instance.module not in modules:
                add(found[instance.module])
        for instance in module.instances:
            inner = modules.get(instance.module)
            clocks = inner.clocks if inner else {"CLK"}
            module.clocks |= {instance.pins[pin] for pin in clocks & instance.pins.keys()}
        module.clocks = {_source(net, module.inverted) for net in module.clocks}
        module.clocks &= module.ports.keys()
        modules[module.name] = module

    for module in found.values():
        if module.name not in modules:
            add(module)
    return modules


def cells_area_um2(text: str, libraries: Libraries) -> float:
    """Return the area of the cells in the text of a module [um2]."""
    cells = (libraries.cells.get(kind) for kind, _ in leaf_cells(text))
    return sum(cell.area_um2 for cell in cells if cell)


def plain_names(verilog: str, cells: Container[str]) -> tuple[str, dict[str, str]]:
    """Return mapped Verilog without escaped names, and the new name of each escaped one.

    Names that differ in numbers alone still do, and those of cells stay.
    """
    names: dict[str, str] = {}
    kinds: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        name = match[1]
        if name in cells:
            return match[0]
        kind = re.sub(r"\d", "", name)
        letters = kinds.setdefault(kind, str(len(kinds)).translate(_LETTERS))
        names[name] = f"fred_{letters}_" + re.sub(r"\W", "_", name, flags=re.ASCII)
        return names[name]

    return re.sub(r"\\(\S+) ", plain, verilog), names


def instance_counts(modules: Mapping[str, MappedModule], top: str) -> Counter[str]:
    """Return how often each module, or memory, occurs in a design."""
    counts = Counter({top: 1})
    for name in reversed(list(modules)):
        for instance in modules[name].instances:
            counts[instance.module] += counts[name]
    return counts


def leaf_cells(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the type of each instance in a module's text, and its pins with their nets."""
    for kind, _, pins in INSTANCE.findall(text):
        yield kind.strip().removeprefix("\\"), _connections(pins)


def signal_of(register: str) -> str:
    """Return the signal that a flip-flop is named after."""
    return _REGISTER.sub("", register)


def _connections(text: str) -> list[tuple[str, str]]:
    return [(pin.strip().removeprefix("\\"), net.strip()) for pin, net in PIN.findall(text)]


def _read(name: str, text: str, libraries: Libraries) -> MappedModule:
    module = MappedModule(name, text)
    for direction, high, low, port in _PORT.findall(text):
        width = abs(int(high or 0) - int(low or 0)) + 1
        module.ports[port.strip().removeprefix("\\")] = (direction, width)
    for kind, label, pins in INSTANCE.findall(text):
        kind, label = kind.strip().removeprefix("\\"), label.strip().removeprefix("\\")
        cell = libraries.cells.get(kind)
        if cell is None:
            module.instances.append(Instance(kind, label, dict(_connections(pins))))
            continue
        module.cells[kind] += 1
        if cell.register:
            module.registers[signal_of(label), kind] += 1
            module.clocks |= {net for pin, net in _connections(pins) if pin in cell.clocks}
        elif len(cell.inputs) == len(cell.outputs) == 1:
            nets = dict(_connections(pins))
            (i,), (o,) = cell.inputs, cell.outputs
            if i in nets and o in nets:
                module.inverted[nets[o]] = nets[i]
    return module


def _source(net: str, inverted: dict[str, str]) -> str:
    """Return the source of a net through inverters and buffers."""
    passed: set[str] = set()
    while net in inverted and net not in passed:
        passed.add(net)
        net = inverted[net]
    return net
