"""Switching activity of a mapped design: toggles of each net under recorded inputs.

The inputs of each cycle come from co-simulation of the generated Verilog. The mapped design is
evaluated once per cycle without delays, and its outputs are compared with the recorded ones. Thus
glitches are not counted, and a netlist that does something else is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fred_hw.errors import InputError

from .gate_level import Gates, Node
from .gate_level_cycles import replay_cycles

__all__ = ["Activity", "Trace", "replay"]

Ints = NDArray[np.int64]
Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class Trace:
    """Values of the ports of a design, before each rising clock edge.

    Parameters
    ----------
    label : str
        Name of the recording, for errors.
    values : Mapping of str to Sequence of int or None
        Value of each port in each cycle; None while it has undefined bits.
    first, last : int
        Cycles in which toggles count, from ``first`` up to ``last`` without it.
    """

    label: str
    values: Mapping[str, Sequence[int | None]]
    first: int
    last: int


@dataclass(frozen=True)
class Activity:
    """Activity of all nets.

    Parameters
    ----------
    toggles, high : array of float, (nets,)
        Changes per clock cycle, and share of the cycles in which a net is high.
    cycles : int
        Counted cycles.
    """

    toggles: NDArray[np.float64]
    high: NDArray[np.float64]
    cycles: int


def replay(gates: Gates, trace: Trace) -> Activity:
    """Return the activity of a mapped design under recorded inputs.

    Raises
    ------
    InputError
        The recording lacks an input of the design, or an output differs from the recorded one;
        names the port and, for an output, the cycle.
    """
    inputs = {port: nets for port, nets in gates.inputs.items() if port != "clk"}
    for port in (*inputs, *gates.outputs):
        if port not in trace.values:
            raise InputError(trace.label, f"net {port}", "must be in the recording of the design")
    drive = _columns(inputs, trace.values)
    expect = _columns(gates.outputs, trace.values)
    expect[2][0] = 0  # flip-flops of a library have no initial values
    counts = np.zeros((2, gates.nets), dtype=np.int64)
    found = replay_cycles(
        drive[:2],
        expect,
        _packed(gates.nodes),
        _packed(gates.registers),
        np.array(gates.initial, dtype=np.int64),
        _memories(gates),
        np.array([trace.first, trace.last]),
        counts,
    )
    if found >= 0:
        cycle, column = divmod(int(found), len(expect[0]))
        names = [
            f"{port}[{bit}]" if len(nets) > 1 else port
            for port, nets in gates.outputs.items()
            for bit in range(len(nets))
        ]
        message = "must be as in the co-simulation of the generated Verilog, not"
        value = 1 - int(expect[1][cycle, column])
        raise InputError(trace.label, f"net {names[column]}", f"{message} {value} in cycle {cycle}")
    cycles = trace.last - trace.first
    return Activity(counts[0] / cycles, counts[1] / cycles, cycles)


def _columns(
    ports: Mapping[str, Sequence[int]], values: Mapping[str, Sequence[int | None]]
) -> tuple[Ints, Bits, Bits]:
    """Return the nets of ports, and for each cycle their values and whether these are known."""
    nets = [net for numbers in ports.values() for net in numbers]
    cycles = max(map(len, values.values()))
    bits = np.zeros((cycles, len(nets)), dtype=np.uint8)
    known = np.zeros_like(bits)
    place = 0
    for port, numbers in ports.items():
        width, size = len(numbers), (len(numbers) + 7) // 8
        column = values[port]
        raw = b"".join((value or 0).to_bytes(size, "little") for value in column)
        rows = np.frombuffer(raw, dtype=np.uint8).reshape(len(column), size)
        bits[:, place : place + width] = np.unpackbits(rows, axis=1, bitorder="little")[:, :width]
        known[:, place : place + width] = np.array([v is not None for v in column])[:, None]
        place += width
    return np.array(nets, dtype=np.int64), bits, known


def _packed(nodes: Sequence[Node]) -> tuple[Ints, ...]:
    """Return nodes as arrays: driven nets, starts of their inputs, inputs, and tables."""
    places: dict[tuple[bool, ...], int] = {}
    pool: list[bool] = []
    for _, _, table in nodes:
        if table not in places:
            places[table] = len(pool)
            pool += table
    starts = np.cumsum([0, *(len(read) for _, read, _ in nodes)])
    return (
        np.array([net for net, _, _ in nodes], dtype=np.int64),
        starts.astype(np.int64),
        np.array([net for _, read, _ in nodes for net in read], dtype=np.int64),
        np.array([places[table] for _, _, table in nodes], dtype=np.int64),
        np.array(pool, dtype=np.int64),
    )


def _memories(gates: Gates) -> tuple[Ints, Ints, int]:
    """Return the pins of memories in one array, the shape of each, and the bits of all.

    A shape is words, width, read ports, bits of an address to read, write ports, bits of an address
    to write, enables, start in the array of pins, and first bit.
    """
    pins: list[int] = []
    shapes: list[list[int]] = []
    bits = 0
    for memory, nets in gates.memories:
        reads, writes = len(nets["RDATA"]) // memory.width, len(nets["WDATA"]) // memory.width
        read_bits, write_bits = len(nets["RADDR"]) // reads, len(nets["WADDR"]) // writes
        row = [memory.words, memory.width, reads, read_bits, writes, write_bits, len(nets["WEN"])]
        shapes.append([*row, len(pins), bits])
        for pin in ("RADDR", "REN", "RDATA", "WADDR", "WDATA", "WEN"):
            pins += nets[pin]
        bits += memory.bits
    return (
        np.array(pins, dtype=np.int64),
        np.array(shapes, dtype=np.int64).reshape(-1, 9),
        bits,
    )
