"""Benes network of RD micro-switches: its wires, its configuration, and its routing.

Benes, "Mathematical Theory of Connecting Networks and Telephone Traffic", 1965: P = 2r ports are r
micro-switches, two networks of r ports, and r micro-switches. Here every micro-switch can reduce
and distribute.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from fred_hw.checks import check_int

from .exact import Effort, EffortError
from .flows import Flow, check_flows
from .routing import DEFAULT_CONFLICTS, Status

__all__ = [
    "BenesConfiguration",
    "Node",
    "check_ports",
    "nodes",
    "route_benes",
    "stage_count",
    "switch_count",
]


def check_ports(unit: str, ports: int) -> int:
    """Return the number of ports of a Benes network.

    Raises
    ------
    ValueError
        It is no power of two, or below two.
    """
    if ports < 2 or ports & (ports - 1):
        raise ValueError(f"{unit} ports must be a power of two, not {ports}")
    return ports


def stage_count(ports: int) -> int:
    """Return the number of stages, 2 log2(P) - 1."""
    return 2 * ports.bit_length() - 3


def switch_count(ports: int) -> int:
    """Return the number of micro-switches, P / 2 in each stage."""
    return ports // 2 * stage_count(ports)


@dataclass(frozen=True)
class BenesConfiguration:
    """State of every micro-switch.

    Parameters
    ----------
    ports : int
        Ports P, a power of two.
    selections : tuple of (int, int)
        What both outputs of each micro-switch take: 0 nothing, 1 input 0, 2 input 1, 3 both
        reduced, beside which 1 and 2 give nothing. The order is that of the configuration word:
        input stage, both inner networks, output stage.

    Raises
    ------
    ValueError
        Ports or selections are out of range, or their number is wrong.
    """

    ports: int
    selections: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        count = switch_count(check_ports("BenesConfiguration", self.ports))
        if len(self.selections) != count:
            raise ValueError(
                f"BenesConfiguration selections must be {count}, not {len(self.selections)}"
            )
        for code in (code for pair in self.selections for code in pair):
            check_int("BenesConfiguration selection", code, minimum=0, maximum=3)

    def pack(self) -> int:
        """Return the word: four bits per micro-switch, from bit 0 up."""
        return sum((a | b << 2) << 4 * n for n, (a, b) in enumerate(self.selections))


@dataclass(frozen=True)
class Node:
    """A micro-switch, with the wires at its inputs and outputs."""

    inputs: tuple[int, int]
    outputs: tuple[int, int]


def nodes(ports: int) -> tuple[tuple[Node, ...], tuple[int, ...]]:
    """Return the micro-switches in the order of the configuration word, and the output wires.

    Wire k below ``ports`` is input port k.
    """
    fresh = iter(range(ports, 1 << 30))
    found: list[Node] = []
    ends = _add(found, fresh, list(range(check_ports("Benes", ports))))
    return tuple(found), tuple(ends)


def _add(found: list[Node], fresh: Iterator[int], wires: list[int]) -> list[int]:
    """Add the micro-switches of a network behind ``wires``; return its output wires."""
    wires = _stage(found, fresh, wires)
    if len(wires) == 2:
        return wires
    upper, lower = (_add(found, fresh, wires[side::2]) for side in range(2))
    pairs = zip(upper, lower, strict=True)
    return _stage(found, fresh, [wire for pair in pairs for wire in pair])


def _stage(found: list[Node], fresh: Iterator[int], wires: list[int]) -> list[int]:
    outputs = [next(fresh) for _ in wires]
    found.extend(
        Node((wires[k], wires[k + 1]), (outputs[k], outputs[k + 1]))
        for k in range(0, len(wires), 2)
    )
    return outputs


def route_benes(
    flows: Iterable[Flow], ports: int, *, max_conflicts: int = DEFAULT_CONFLICTS
) -> tuple[Status, BenesConfiguration | None]:
    """Route flows that are to be active at the same time, by satisfiability.

    The search is complete: a flow may split and join anywhere, as long as each of its outputs
    gets each of its inputs once. It knows which inputs each wire carries.

    Parameters
    ----------
    flows : iterable of Flow
        Flows, disjoint in inputs and in outputs.
    ports : int
        Ports, a power of two.
    max_conflicts : int
        Solver conflicts to spend at most; beyond them the status is ``unknown``.

    Returns
    -------
    (str, BenesConfiguration or None)
        ``routed`` with the configuration; ``conflict``, which is proven, or ``unknown`` with None.

    Raises
    ------
    TypeError, ValueError
        As :func:`check_flows`, or ``ports`` is no power of two.
    """
    from pysat.solvers import Solver

    flows = check_flows(flows, ports)
    network, ends = nodes(ports)
    formula = _Formula(flows, network)
    formula.require(ends)
    with Solver(name="glucose4", bootstrap_with=formula.clauses) as solver:
        try:
            if not Effort(max_conflicts).ask(solver, []):
                return "conflict", None
        except EffortError:
            return "unknown", None
        true = {literal for literal in solver.get_model() or () if literal > 0}
    codes = [
        [sum(1 << k for k in range(2) if formula.takes[n, out, k] in true) for out in range(2)]
        for n in range(len(network))
    ]
    used = {end for flow in flows for end in (ends[port] for port in flow.outputs)}
    for n in range(len(network) - 1, -1, -1):  # drop what no output needs
        for out, wire in enumerate(network[n].outputs):
            codes[n][out] *= wire in used
            used.update(w for k, w in enumerate(network[n].inputs) if codes[n][out] >> k & 1)
    return "routed", BenesConfiguration(ports, tuple((a, b) for a, b in codes))


class _Formula:
    """Clauses in conjunctive form: which inputs each wire carries, and what each output takes.

    Parameters
    ----------
    flows : sequence of Flow
        The flows.
    network : sequence of Node
        The micro-switches.
    """

    def __init__(self, flows: Sequence[Flow], network: Sequence[Node]) -> None:
        self.clauses: list[list[int]] = []
        self._count = 0
        self._flows = flows
        self._inputs = [port for flow in flows for port in flow.inputs]
        self._carries: dict[tuple[int, int], int] = {}
        self.takes: dict[tuple[int, int, int], int] = {}
        wires = {wire for node in network for wire in (*node.inputs, *node.outputs)}
        for wire in sorted(wires):
            for port in self._inputs:
                self._carries[wire, port] = self._variable()
            self._keep_flows_apart(wire)
        for n, node in enumerate(network):
            self._add(n, node)

    def require(self, ends: Sequence[int]) -> None:
        """Require the inputs of its flow at each output port, and its own at each input port."""
        for port, one in product(range(len(ends)), self._inputs):
            self._set(port, one, one == port)
        wanted = {port: set(flow.inputs) for flow in self._flows for port in flow.outputs}
        for port, wire in enumerate(ends):
            for one in self._inputs:
                self._set(wire, one, one in wanted.get(port, ()))

    def _variable(self) -> int:
        self._count += 1
        return self._count

    def _set(self, wire: int, port: int, value: bool) -> None:
        variable = self._carries[wire, port]
        self.clauses.append([variable if value else -variable])

    def _keep_flows_apart(self, wire: int) -> None:
        for one, other in combinations(self._flows, 2):
            for a, b in product(one.inputs, other.inputs):
                self.clauses.append([-self._carries[wire, a], -self._carries[wire, b]])

    def _add(self, n: int, node: Node) -> None:
        for out, wire in enumerate(node.outputs):
            a, b = (self._variable() for _ in range(2))
            self.takes[n, out, 0], self.takes[n, out, 1] = a, b
            for one in node.inputs:  # a reduction with an empty input delivers nothing
                self.clauses.append([-a, -b, *(self._carries[one, k] for k in self._inputs)])
            for port in self._inputs:
                x = self._carries[wire, port]
                p, q = (self._carries[one, port] for one in node.inputs)
                self.clauses += [[-a, -p, x], [-b, -q, x], [-x, a, b], [-x, a, q], [-x, b, p]]
                self.clauses += [[-x, p, q], [-a, -b, -p, -q]]
        (a, b), (c, d) = ((self.takes[n, out, 0], self.takes[n, out, 1]) for out in range(2))
        # Beside a reduction the other output takes both or nothing.
        self.clauses += [[-a, -b, -c, d], [-a, -b, c, -d], [-c, -d, -a, b], [-c, -d, a, -b]]
