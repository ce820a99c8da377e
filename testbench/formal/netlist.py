"""Netlists of harnesses as and-inverter graphs, which Yosys writes in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .harness import Harness

__all__ = ["VIOLATED", "FormalError", "Graph", "convert", "lower", "main"]

_PASSES = (
    "hierarchy -top top",
    "proc",
    "flatten",
    "opt_clean",
    "memory -nomap",
    "memory_map -formal",
    "chformal -lower",
    "setattr -unset init w:*",  # registers and memories begin with any value
    "opt_expr",
    "dffunmap",
    "techmap",
    "simplemap",
    "opt_expr",
    "opt_merge",
    "dffunmap",
    "setundef -undriven -anyseq",
    "aigmap",
    "opt_clean",
)


VIOLATED = "violated"
"""Name of the constraints that are violated, as a port of a graph."""


class FormalError(Exception):
    """A tool of the proofs failed."""


@dataclass(frozen=True)
class Graph:
    """And-inverter graph with registers, in the numbering of AIGER.

    Literal 2 * v is variable v, and 2 * v + 1 its complement; variable 0 is constant 0. Inputs are
    the first variables, registers follow, and the gates are last, each after its operands.

    Parameters
    ----------
    inputs : int
        Number of inputs.
    registers : tuple of int
        Literal of the next value of each register; all begin with 0.
    bad, constraints : tuple of int
        Literals that must never be 1, and that are 1 in each cycle.
    gates : tuple of pairs of int
        Operands of each gate.
    ports : mapping of str to tuple of int
        Literals of each port of the harness, the lowest bit first; and of violated constraints.
    """

    inputs: int
    registers: tuple[int, ...]
    bad: tuple[int, ...]
    constraints: tuple[int, ...]
    gates: tuple[tuple[int, int], ...]
    ports: Mapping[str, tuple[int, ...]]

    def run(self, stimuli: Sequence[Sequence[int]]) -> list[dict[str, int]]:
        """Return the values of all ports in each cycle, from the bits of all inputs."""
        state, cycles = [0] * len(self.registers), []
        for bits in stimuli:
            values = [0, *bits, *state]

            def value(literal: int, values: list[int] = values) -> int:
                return values[literal >> 1] ^ (literal & 1)

            for left, right in self.gates:
                values.append(value(left) & value(right))
            state = [value(literal) for literal in self.registers]
            cycles.append(
                {
                    name: sum(value(literal) << place for place, literal in enumerate(literals))
                    for name, literals in self.ports.items()
                }
            )
        return cycles


def lower(harnesses: Mapping[str, tuple[Harness, str | None]], folder: Path) -> dict[str, Graph]:
    """Convert harnesses to graphs, and to files for the solver, ``<name>.aig``.

    Parameters
    ----------
    harnesses : mapping of str to pair of Harness and str or None
        Harnesses, each with the cover that its netlist shall miss, by file name.
    folder : Path
        Folder of the files.

    Raises
    ------
    FormalError
        Yosys failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, (harness, cover) in harnesses.items():
        files.append(folder / f"{name}.il")
        files[-1].write_text(harness.netlist(cover), encoding="utf-8")
    log = folder / "yosys.log"
    return convert(files, log)


def convert(files: Sequence[Path], log: Path, *, zeroed: bool = False) -> dict[str, Graph]:
    """Convert RTLIL files to graphs by name, and to files for the solver beside them.

    Parameters
    ----------
    files : sequence of Path
        Files whose top module is ``top``.
    log : Path
        File for the output of Yosys.
    zeroed : bool
        Whether registers begin with 0, instead of any value.

    Raises
    ------
    FormalError
        Yosys failed.
    """
    with log.open("w", encoding="utf-8") as output:
        options = ["--zeroed"] if zeroed else []
        command = [sys.executable, "-m", "testbench.formal.netlist", *options, *map(str, files)]
        status = subprocess.run(command, stdout=output, stderr=output, check=False).returncode
    if status:
        raise FormalError(f"{log}: {log.read_text(encoding='utf-8').strip().splitlines()[-1]}")
    return {file.stem: _graph(file) for file in files}


def _graph(file: Path) -> Graph:
    """Read the graph that Yosys wrote, and write it without outputs for the solver.

    ABC would take outputs for bad states.
    """
    lines = file.with_suffix(".full").read_bytes().split(b"\n", 1)
    _, inputs, latches, outputs, gates, bad, constraints = map(int, lines[0].split()[1:8])
    *head, rest = lines[1].split(b"\n", latches + outputs + bad + constraints)
    body = b"\n".join([*head[:latches], *head[latches + outputs :], rest])
    header = f"aig {inputs + latches + gates} {inputs} {latches} 0 {gates} {bad} {constraints} 0 0"
    file.with_suffix(".aig").write_bytes(header.encode() + b"\n" + body)
    literals = [int(line.split()[0]) for line in head]
    ends = literals[latches : latches + outputs]
    ports: dict[str, dict[int, int]] = {}
    for line in file.with_suffix(".map").read_text(encoding="utf-8").splitlines():
        kind, number, *named = line.split()
        if kind in ("input", "output"):
            bit, name = named
            literal = 2 * int(number) + 2 if kind == "input" else ends[int(number)]
            ports.setdefault(name, {})[int(bit)] = literal
    found = literals[latches + outputs :]
    return Graph(
        inputs,
        tuple(literals[:latches]),
        tuple(found[:bad]),
        tuple(found[bad:]),
        tuple(_gates(rest, inputs + latches + 1, gates)),
        {
            **{name: tuple(bits[place] for place in sorted(bits)) for name, bits in ports.items()},
            VIOLATED: tuple(literal ^ 1 for literal in found[bad:]),
        },
    )


def _gates(code: bytes, first: int, number: int) -> Iterator[tuple[int, int]]:
    """Decode the gates, which are given as differences of literals."""
    place = 0

    def difference() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = code[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    for variable in range(first, first + number):
        left = 2 * variable - difference()
        yield left, left - difference()


def main() -> None:
    """Convert each RTLIL file of the command line to an AIGER file and a map of its ports."""
    from pyosys import libyosys as yosys  # pyright: ignore[reportAttributeAccessIssue]

    zeroed = sys.argv[1:2] == ["--zeroed"]
    passes = list(_PASSES)
    if zeroed:
        passes.insert(passes.index("aigmap"), "zinit -all")
    for source in map(Path, sys.argv[1 + zeroed :]):
        design = yosys.Design()
        stem = source.with_suffix("")
        write = f"write_aiger -zinit -map {stem}.map {stem}.full"
        for command in (f"read_rtlil {source}", *passes, write):
            yosys.run_pass(command, design)


if __name__ == "__main__":
    main()
