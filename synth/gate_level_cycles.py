"""Cycle by cycle evaluation of gates, compiled by numba.

Nets have the values 0 and 1. Memories are described by arrays as in ``synth.activity``.
"""

from typing import Any

import numba
import numpy as np

__all__ = ["replay_cycles"]


@numba.njit(cache=True)
def _number(values: Any, pins: Any, start: int, bits: int) -> int:
    """Return the number on some pins."""
    found = 0
    for bit in range(bits):
        found |= values[pins[start + bit]] << bit
    return found


@numba.njit(cache=True)
def _row(values: Any, starts: Any, read: Any, node: int) -> int:
    """Return the row of a node's table for the values that it reads."""
    return _number(values, read, starts[node], starts[node + 1] - starts[node])


@numba.njit(cache=True)
def _evaluate(values: Any, nodes: Any) -> None:
    """Evaluate all logic."""
    nets, starts, read, tables, pool = nodes
    for node in range(len(nets)):
        values[nets[node]] = pool[tables[node] + _row(values, starts, read, node)]


@numba.njit(cache=True)
def _count(values: Any, before: Any, counts: Any) -> None:
    """Count changes and high nets."""
    for net in range(len(values)):
        counts[0, net] += values[net] ^ before[net]
        counts[1, net] += values[net]


@numba.njit(cache=True)
def _clock_memories(values: Any, memories: Any, store: Any, later: Any) -> None:
    """Put what memories read into ``later``, pin by pin, then write to them."""
    pins, shapes, _ = memories
    for words, width, reads, read_bits, writes, write_bits, enables, start, first in shapes:
        ren = start + reads * read_bits
        rdata = ren + reads
        waddr = rdata + reads * width
        wdata = waddr + writes * write_bits
        wen = wdata + writes * width
        for port in range(reads):
            if values[pins[ren + port]]:
                word = _number(values, pins, start + port * read_bits, read_bits)
                for bit in range(width):
                    place = first + word * width + bit
                    later[rdata + port * width + bit] = store[place] if word < words else 0
        part = writes * width // enables
        for enable in range(enables):
            if values[pins[wen + enable]]:
                port = enable * part // width
                word = _number(values, pins, waddr + port * write_bits, write_bits)
                if word < words:
                    for bit in range(enable * part, (enable + 1) * part):
                        store[first + word * width + bit % width] = values[pins[wdata + bit]]


@numba.njit(cache=True)
def _show_memories(values: Any, memories: Any, later: Any) -> None:
    """Put what memories have read on their outputs."""
    pins, shapes, _ = memories
    for _, width, reads, read_bits, _, _, _, start, _ in shapes:
        rdata = start + reads * read_bits + reads
        for bit in range(reads * width):
            values[pins[rdata + bit]] = later[rdata + bit]


@numba.njit(cache=True)
def replay_cycles(
    drive: Any,
    expect: Any,
    nodes: Any,
    registers: Any,
    initial: Any,
    memories: Any,
    window: Any,
    counts: Any,
) -> int:
    """Count changes and high cycles of nets; return the first wrong output, or -1.

    What is returned is the cycle times the number of outputs, plus the number of the output.

    Parameters
    ----------
    drive : (nets, values)
        Inputs, and their values by cycle.
    expect : (nets, values, known)
        Outputs, their values by cycle, and which of these are known.
    nodes, registers : (nets, starts, read, tables, pool)
        Driven nets; for each where its inputs begin in ``read``, and its table in ``pool``.
    initial : nets
        Nets that are high before the first clock edge.
    memories : (pins, shapes, bits)
        Memories.
    window : (first, last)
        Counted cycles.
    counts : array, (2, nets)
        Changes and high cycles, which are added to.
    """
    driven, stimulus = drive
    watched, wanted, known = expect
    states, state_starts, state_read, at, pool = registers
    values, before = np.zeros(counts.shape[1], np.int64), np.zeros(counts.shape[1], np.int64)
    following, later = np.zeros(len(states), np.int64), np.zeros(len(memories[0]), np.int64)
    store = np.zeros(memories[2], np.int64)
    values[1] = 1
    for net in initial:
        values[net] = 1
    for cycle in range(window[1]):
        for column in range(len(driven)):
            values[driven[column]] = stimulus[cycle, column]
        _evaluate(values, nodes)
        for column in range(len(watched)):
            if known[cycle, column] and values[watched[column]] != wanted[cycle, column]:
                return cycle * len(watched) + column
        if cycle >= window[0]:
            _count(values, before, counts)
        before[:] = values
        for state in range(len(states)):
            following[state] = pool[at[state] + _row(values, state_starts, state_read, state)]
        _clock_memories(values, memories, store, later)
        for state in range(len(states)):
            values[states[state]] = following[state]
        _show_memories(values, memories, later)
    return -1
