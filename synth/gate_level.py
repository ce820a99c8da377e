"""A mapped design at gate level: logic in the order in which ``synth.activity`` replays it.

For simulators, ``synth.cell_models`` writes the same netlist as Verilog with models of its cells.
Decision 0105 says why the power of a design is not computed with a simulator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fred_hw.errors import InputError

from .boolean import truth_table
from .classes import kinds_of
from .definitions import plain
from .liberty import Cell
from .mapping import Memory
from .netlist import signal_of
from .sizable import SizableDesign

__all__ = ["CONSTANTS", "Gates", "Instance", "Node", "gate_level"]

CONSTANTS = 2
"""Nets 0 and 1, which come before those of the flattened design."""


class Instance(NamedTuple):
    """A cell of the library in the flattened design.

    Parameters
    ----------
    module, name, kind : str
        Module that contains it, its name there, and its cell.
    label : str
        Its class, as for areas.
    """

    module: str
    name: str
    kind: str
    label: str


class Node(NamedTuple):
    """A driven net, the nets that it depends on, and its value for each value of these nets."""

    net: int
    read: Sequence[int]
    table: tuple[bool, ...]


@dataclass(frozen=True)
class Gates:
    """Nets and their drivers; net 0 is low, net 1 is high.

    Parameters
    ----------
    design : SizableDesign
        The design, with net ``n - 2`` of its timing graph for net ``n``.
    nets : int
        Number of nets.
    inputs, outputs : dict of str to list of int
        Nets of the ports of the top module, the lowest bit first.
    cells : list of Instance
        All cells, in the order of the timing graph.
    nodes, registers : list of Node
        Logic in the order of evaluation; and flip-flops, with the next value of each.
    initial : list of int
        States that are high before the first clock edge: those whose inverse is the signal. The
        library defines no initial values; the replay begins with all signals low, and compares no
        outputs before the first clock edge.
    memories : list of (Memory, dict of str to list of int)
        Memories, and the nets of each pin, the lowest bit first.
    """

    design: SizableDesign
    nets: int
    inputs: dict[str, list[int]]
    outputs: dict[str, list[int]]
    cells: list[Instance]
    nodes: list[Node]
    registers: list[Node]
    initial: list[int]
    memories: list[tuple[Memory, dict[str, list[int]]]]


def gate_level(design: SizableDesign, units: Mapping[str, str]) -> Gates:
    """Return all cells, nets and memories of a mapped design.

    Parameters
    ----------
    design : SizableDesign
        The design; no instances may stand for others in it.
    units : Mapping of str to str
        Class of this package from which each module was generated.

    Raises
    ------
    InputError
        A cell has no function that can be simulated, a flip-flop is not clocked by the rising edge
        of the port ``clk``, a memory does not read the old word at clock edges, or logic depends on
        itself.
    """
    cells, memories = _instances(design, units), _memories(design)
    logic = _Logic(design)
    pins = (design.graph.flat.pins + CONSTANTS).tolist()
    for instance, nets in zip(cells, pins, strict=True):
        logic.add(instance, nets)
    ports: dict[str, dict[str, list[int]]] = {"input": {}, "output": {}, "inout": {}}
    for port, (direction, _) in design.modules[design.top].ports.items():
        nets = design.insides[design.top].ports[port]
        ports[direction][port] = [net + CONSTANTS for net in reversed(nets)]
    nodes = _sorted(design.top, logic.nodes)
    _check_clocks(design.top, logic, ports["input"].get("clk", [-1])[0])
    return Gates(
        design=design,
        nets=logic.nets,
        inputs=ports["input"],
        outputs=ports["output"],
        cells=cells,
        nodes=nodes,
        registers=logic.registers,
        initial=logic.initial,
        memories=memories,
    )


def _instances(design: SizableDesign, units: Mapping[str, str]) -> list[Instance]:
    """Return the cells with their classes, which those of modules around them may replace."""
    labels: dict[str, list[str]] = {}
    named: dict[int, tuple[str, str, str]] = {}
    for module, inside in design.insides.items():
        kinds, items = kinds_of(units.get(module)), design.definitions[module].items
        its = labels[module] = []
        for number in inside.cells:
            kind, name = plain(items[number].kind), plain(items[number].name)
            register = design.libraries.cells[kind].register
            its.append(kinds.of_register(signal_of(name)) if register else kinds.logic)
            named[inside.first_item + number] = module, name, kind
        for number, _ in inside.children:
            its += labels[plain(items[number].kind)]
        if kinds.whole:
            labels[module] = [kinds.logic] * len(its)
    cells = design.graph.flat.cell.tolist()
    pairs = zip(cells, labels[design.top], strict=True)
    return [Instance(*named[cell], label) for cell, label in pairs]


def _memories(design: SizableDesign) -> list[tuple[Memory, dict[str, list[int]]]]:
    """Return the memories, whose reads must be those that the replay does."""
    items = [item for one in design.definitions.values() for item in one.items]
    flat, found, start = design.graph.flat, list[tuple[Memory, dict[str, list[int]]]](), 0
    for number in flat.memory:
        memory, nets = design.memories[plain(items[number].kind)], dict[str, list[int]]()
        if not memory.old_data:
            message = "must read the word before a write, at clock edges, to be simulated"
            raise InputError(design.top, f"memory {memory.kind}", message)
        for pin, (_, width) in memory.pins.items():
            part = flat.memory_pins[start : start + width]
            nets[pin] = (part[::-1] + CONSTANTS).tolist()
            start += width
        found.append((memory, nets))
    return found


class _Logic:
    """Nodes and flip-flops of the cells of a design."""

    def __init__(self, design: SizableDesign) -> None:
        self._libraries, self._kinds = design.libraries, design.kinds
        self.nets = design.graph.flat.nets + CONSTANTS
        self.nodes: list[Node] = []
        self.registers: list[Node] = []
        self.initial: list[int] = []
        self.clocks: list[tuple[str, int]] = []
        self._tables: dict[tuple[str, tuple[str, ...]], tuple[bool, ...] | None] = {}

    def add(self, instance: Instance, nets: Sequence[int]) -> None:
        """Add a cell's logic, and the state of a flip-flop."""
        cell = self._libraries.cells[instance.kind]
        pins = dict(zip(self._kinds.cells[self._kinds.number[cell.name]].pins, nets, strict=False))
        inputs = {pin: pins[pin] for pin in cell.inputs}
        outputs = [pin for pin in cell.outputs if pins[pin] >= CONSTANTS]
        if cell.register:
            states = [one.strip(' "') for one in cell.state.get("names", "").split(",")]
            clock = cell.state.get("clocked_on", "").strip(' "()')
            if len(states) != 2 or clock not in cell.inputs:
                raise self._refused(cell, "must be clocked by a rising edge, as a plain flip-flop")
            data = self._table(cell, cell.state.get("next_state", ""), (*inputs, *states))
            inverted = all(cell.outputs[pin].strip(' "()') == states[1] for pin in outputs)
            state, inverse = self.nets, self.nets + 1
            self.nets += 2
            self.clocks.append((f"{instance.module}.{instance.name}", inputs[clock]))
            self.nodes.append(Node(inverse, [state], (True, False)))
            self.registers.append(Node(state, [*inputs.values(), state, inverse], data))
            self.initial += [state] * inverted
            inputs = {states[0]: state, states[1]: inverse}
        for pin in outputs:
            table = self._table(cell, cell.outputs[pin], tuple(inputs))
            self.nodes.append(Node(pins[pin], list(inputs.values()), table))

    def _table(self, cell: Cell, function: str, names: tuple[str, ...]) -> tuple[bool, ...]:
        key = function, names
        if key not in self._tables:
            self._tables[key] = truth_table(function, names)
        if (found := self._tables[key]) is None:
            raise self._refused(
                cell, f"must have functions that can be simulated, not {function!r}"
            )
        return found

    def _refused(self, cell: Cell, message: str) -> InputError:
        return InputError(self._libraries.label, f"cell {cell.name}", message)


def _check_clocks(top: str, logic: _Logic, clock: int) -> None:
    buffered = {node.net: node.read[0] for node in logic.nodes if node.table == (False, True)}
    for name, net in logic.clocks:
        while net in buffered:
            net = buffered[net]
        if net != clock:
            message = "must be clocked by the rising edge of clk to be simulated"
            raise InputError(top, f"flip-flop {name}", message)


def _sorted(top: str, nodes: Sequence[Node]) -> list[Node]:
    """Return logic in an order in which each net is driven before it is read."""
    driven = {node.net for node in nodes}
    waits = [0] * len(nodes)
    readers: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        for net in driven.intersection(node.read):
            waits[number] += 1
            readers.setdefault(net, []).append(number)
    ready = [number for number, count in enumerate(waits) if not count]
    for number in ready:  # grows while it is read
        for reader in readers.get(nodes[number].net, ()):
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    if len(ready) < len(nodes):
        raise InputError(top, "", "must not contain a combinational loop")
    return [nodes[number] for number in ready]
