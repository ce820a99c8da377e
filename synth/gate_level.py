"""A mapped design at gate level: all instances flattened, in the order of evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fred_hw.errors import InputError

from .boolean import truth_table
from .classes import Kinds, kinds_of
from .definitions import Definition, plain
from .liberty import Cell, Libraries
from .mapping import Mapped, Memory
from .netlist import read_netlist, signal_of

__all__ = ["Gates", "Instance", "gate_level"]


@dataclass(frozen=True)
class Instance:
    """A cell of the library in the flattened design.

    Parameters
    ----------
    module, name, kind : str
        Module that contains it, its name there, and its cell.
    label : str
        Its class, as for areas.
    pins : dict of str to int
        Net of each connected pin.
    """

    module: str
    name: str
    kind: str
    label: str
    pins: dict[str, int]


@dataclass
class Gates:
    """Nets and their drivers; net 0 is low, net 1 is high.

    Parameters
    ----------
    top : str
        Top module.
    nets : int
        Number of nets.
    inputs, outputs : dict of str to list of int
        Nets of the ports of the top module, the lowest bit first.
    cells : list of Instance
        All cells: of each instance of a module first its own, then those of modules in it.
    nodes : list of (net, inputs, table)
        Logic in the order of evaluation: driven net, read nets, and values for all inputs.
    registers : list of (state, inputs, table)
        Flip-flops: net of the state, and its next value as of a node.
    initial : list of int
        Nets of states that are high before the first clock edge.
    memories : list of (Memory, dict of str to list of int)
        Memories, and the nets of each pin, the lowest bit first.
    """

    top: str
    nets: int = 2
    inputs: dict[str, list[int]] = field(default_factory=dict)
    outputs: dict[str, list[int]] = field(default_factory=dict)
    cells: list[Instance] = field(default_factory=list)
    nodes: list[tuple[int, list[int], tuple[bool, ...]]] = field(default_factory=list)
    registers: list[tuple[int, list[int], tuple[bool, ...]]] = field(default_factory=list)
    initial: list[int] = field(default_factory=list)
    memories: list[tuple[Memory, dict[str, list[int]]]] = field(default_factory=list)


def gate_level(mapped: Mapped, libraries: Libraries, units: Mapping[str, str]) -> Gates:
    """Return all cells, nets and memories of a mapped design.

    Parameters
    ----------
    mapped, libraries : Mapped, Libraries
        The design and its cells.
    units : Mapping of str to str
        Class of this package from which each module was generated.

    Raises
    ------
    InputError
        A cell has no function that can be simulated, a flip-flop is not clocked by the rising edge
        of the port ``clk``, or logic depends on itself.
    """
    modules = read_netlist(mapped.verilog, libraries)
    definitions = {name: Definition(module) for name, module in modules.items()}
    gates = Gates(mapped.top)
    memories = {one.kind: one for inside in mapped.memories.values() for one in inside}
    walk = _Walk(gates, definitions, memories, libraries, units)
    own = walk.instance(gates.top, "", {})
    for port, (direction, bits) in definitions[gates.top].ports.items():
        ports = gates.inputs if direction == "input" else gates.outputs
        ports[port] = [own[bit] for bit in reversed(bits)]
    walk.finish()
    return gates


class _Walk:
    """Recursive walk over the instances of a design."""

    def __init__(
        self,
        gates: Gates,
        definitions: Mapping[str, Definition],
        memories: Mapping[str, Memory],
        libraries: Libraries,
        units: Mapping[str, str],
    ) -> None:
        self.gates, self.definitions, self.memories = gates, definitions, memories
        self.libraries, self.units = libraries, units
        self.same = [0, 1]  # a net on the same wire, or the net itself
        self.clocks: list[tuple[str, int]] = []
        self.tables: dict[tuple[str, tuple[str, ...]], tuple[bool, ...] | None] = {}

    def _net(self) -> int:
        self.same.append(len(self.same))
        return len(self.same) - 1

    def _root(self, net: int) -> int:
        while self.same[net] != net:
            self.same[net] = net = self.same[self.same[net]]
        return net

    def instance(self, module: str, whole: str, outer: Mapping[str, int]) -> dict[str, int]:
        """Add an instance of a module, and return the nets of all of its port bits.

        ``whole`` is the class of all that is in it, or empty; ``outer`` has the nets that its port
        bits are connected to.
        """
        definition, found = self.definitions[module], dict[str, int]()
        kinds = kinds_of(self.units.get(module))
        whole = whole or (kinds.logic if kinds.whole else "")
        kinds = Kinds(whole, whole) if whole else kinds

        def net(bit: str) -> int:
            bit = definition.net(bit)
            if bit.startswith("1'b"):
                return int(bit[3] == "1")
            if bit not in found:
                found[bit] = self._net()
            return found[bit]

        for bit, number in outer.items():
            low, high = sorted((self._root(net(bit)), self._root(number)))
            self.same[high] = low
        below: list[tuple[str, dict[str, int]]] = []
        for item in definition.items:
            kind, name = plain(item.kind), plain(item.name)
            pins = {plain(pin): [net(bit) for bit in bits] for pin, bits in item.pins.items()}
            if kind in self.definitions:
                ports = self.definitions[kind].ports
                inside = {
                    bit: number
                    for pin, numbers in pins.items()
                    for bit, number in zip(ports[pin][1], numbers, strict=True)
                }
                below.append((kind, inside))
            elif kind in self.memories:
                low_first = {pin: numbers[::-1] for pin, numbers in pins.items()}
                self.gates.memories.append((self.memories[kind], low_first))
            else:
                register = self.libraries.cells[kind].register
                label = kinds.of_register(signal_of(name)) if register else kinds.logic
                nets = {pin: numbers[0] for pin, numbers in pins.items() if numbers}
                self._cell(Instance(module, name, kind, label, nets))
        for kind, inside in below:
            self.instance(kind, whole, inside)
        for _, bits in definition.ports.values():
            found |= {bit: net(bit) for bit in bits}
        return found

    def _cell(self, instance: Instance) -> None:
        """Add a cell's logic, and the state of a flip-flop."""
        cell, gates = self.libraries.cells[instance.kind], self.gates
        gates.cells.append(instance)
        nets = {pin: instance.pins.get(pin, 0) for pin in cell.inputs}
        outputs = [pin for pin in cell.outputs if pin in instance.pins]
        if cell.register:
            states = [one.strip(' "') for one in cell.state.get("names", "").split(",")]
            clock = cell.state.get("clocked_on", "").strip(' "()')
            if len(states) != 2 or clock not in cell.inputs:
                raise self._refused(cell, "must be clocked by a rising edge, as a plain flip-flop")
            data = self._table(cell, cell.state.get("next_state", ""), (*nets, *states))
            # The net that carries the signal's name is low at first, as in generated Verilog.
            inverted = all(cell.outputs[pin].strip(' "()') == states[1] for pin in outputs)
            state, inverse = self._net(), self._net()
            self.clocks.append((f"{instance.module}.{instance.name}", nets[clock]))
            gates.nodes.append((inverse, [state], (True, False)))
            gates.registers.append((state, [*nets.values(), state, inverse], data))
            gates.initial += [state] * inverted
            nets = {states[0]: state, states[1]: inverse}
        for pin in outputs:
            table = self._table(cell, cell.outputs[pin], tuple(nets))
            gates.nodes.append((instance.pins[pin], list(nets.values()), table))

    def _table(self, cell: Cell, function: str, names: tuple[str, ...]) -> tuple[bool, ...]:
        key = function, names
        if key not in self.tables:
            self.tables[key] = truth_table(function, names)
        if (found := self.tables[key]) is None:
            raise self._refused(
                cell, f"must have functions that can be simulated, not {function!r}"
            )
        return found

    def _refused(self, cell: Cell, message: str) -> InputError:
        return InputError(self.libraries.label, f"cell {cell.name}", message)

    def finish(self) -> None:
        """Join nets on the same wire, and sort the logic."""
        gates, root = self.gates, [self._root(net) for net in range(len(self.same))]

        def joined(nets: Sequence[int]) -> list[int]:
            return [root[net] for net in nets]

        gates.nets = len(root)
        gates.inputs = {port: joined(nets) for port, nets in gates.inputs.items()}
        gates.outputs = {port: joined(nets) for port, nets in gates.outputs.items()}
        for cell in gates.cells:
            cell.pins.update({pin: root[net] for pin, net in cell.pins.items()})
        nodes = [(root[net], joined(read), table) for net, read, table in gates.nodes]
        gates.registers = [(root[n], joined(read), table) for n, read, table in gates.registers]
        gates.initial = joined(gates.initial)
        gates.memories = [
            (memory, {pin: joined(nets) for pin, nets in pins.items()})
            for memory, pins in gates.memories
        ]
        self._check_clocks(nodes, root)
        gates.nodes = self._sorted(nodes)

    def _check_clocks(
        self, nodes: Sequence[tuple[int, list[int], tuple[bool, ...]]], root: Sequence[int]
    ) -> None:
        buffered = {net: read[0] for net, read, table in nodes if table == (False, True)}
        clock = self.gates.inputs.get("clk", [-1])[0]
        for name, net in self.clocks:
            net = root[net]
            while net in buffered:
                net = buffered[net]
            if net != clock:
                message = "must be clocked by the rising edge of clk to be simulated"
                raise InputError(self.gates.top, f"flip-flop {name}", message)

    def _sorted(
        self, nodes: Sequence[tuple[int, list[int], tuple[bool, ...]]]
    ) -> list[tuple[int, list[int], tuple[bool, ...]]]:
        """Return logic in an order in which each net is driven before it is read."""
        driven = {net: number for number, (net, _, _) in enumerate(nodes)}
        waits = [0] * len(nodes)
        readers: dict[int, list[int]] = {}
        for number, (_, read, _) in enumerate(nodes):
            for net in set(read) & driven.keys():
                waits[number] += 1
                readers.setdefault(net, []).append(number)
        for memory, _ in self.gates.memories:
            if not memory.clocked:
                message = "must read at clock edges to be simulated"
                raise InputError(self.gates.top, f"memory {memory.kind}", message)
        ready = [number for number, count in enumerate(waits) if not count]
        for number in ready:  # grows while it is read
            for reader in readers.get(nodes[number][0], ()):
                waits[reader] -= 1
                if not waits[reader]:
                    ready.append(reader)
        if len(ready) < len(nodes):
            message = "must not contain a combinational loop"
            raise InputError(self.gates.top, "", message)
        return [nodes[number] for number in ready]
