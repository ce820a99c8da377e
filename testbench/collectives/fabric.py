"""Endpoints on the ports of a switch: collectives with real flits."""

import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Descriptor
from fred_hw.control.access import Access
from fred_hw.control.switch_map import switch_map
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import class_number
from testbench.sim.cache import built
from testbench.sim.runner import find_simulator
from testbench.sim.tools import SimulatorError

from .bench_text import (
    MODELS,
    NEVER,
    STEPS,
    axil_pins,
    bench_begin,
    bench_end,
    driver,
    endpoint,
    known,
    known_link,
    known_memory,
    known_slave,
    link_line,
    link_pins,
    memory,
    plusargs,
)
from .outputs import by_node, memories_of, reported_by
from .units import switch_and_endpoint

__all__ = [
    "ADDRESSES",
    "ALL_BITS",
    "Fabric",
    "Finished",
    "Program",
    "Sizes",
    "build_fabric",
    "collected",
    "compiled",
    "fabric_text",
    "finished",
    "run_fabric",
    "write_memories",
    "write_steps",
]

ALL_BITS = 0xFFFFFFFF

ADDRESSES = (17, 3, 64, 101, 5, 6, 7, 8)
"""Addresses of the endpoints, deliberately in no order."""

Flits = NDArray[np.uint8]


class Program:
    """Steps of a driver: register reads and writes by name.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    """

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec = spec
        self.registers = endpoint_map(spec)
        self.steps: list[tuple[int, int, int, int]] = []
        self.queued: dict[str, int] = dict.fromkeys(spec.protocol.channels.names, 0)
        self.restart = 0

    def at(self, register: str, index: int = 0) -> int:
        """Return the address of a register word."""
        return self.registers.register(register).address + 4 * index

    def wait(self, cycles: int) -> None:
        """Wait for a number of cycles."""
        self.steps.append((0, 0, cycles, 0))

    def write(self, register: str, value: int, index: int = 0, answer: int = 0) -> None:
        """Write a register; ``answer`` is the expected AXI response."""
        self.steps.append((1, self.at(register, index), value, answer))

    def until(self, register: str, value: int, mask: int = ALL_BITS, index: int = 0) -> None:
        """Read a register until its bits in ``mask`` equal ``value``."""
        self.steps.append((2, self.at(register, index), value, mask))

    def show(self, register: str, index: int = 0) -> None:
        """Read a register, and report the value and the cycle in the result of the run."""
        self.steps.append((3, self.at(register, index), 0, 0))

    def begin(self, address: int) -> None:
        """Set the endpoint's address, and wait for the link."""
        self.write("ADDRESS", address)
        self.until("STATUS", 1, 1)

    def queue(self, *descriptors: Descriptor) -> None:
        """Queue descriptors as software does: each waits until the previous one is prepared."""
        for one in descriptors:
            for register, index, value in one.writes(self.spec.data_width // 8):
                if register == "COMMAND":
                    full = 1 << 12 + class_number(one.circuit)
                    self.until("STATUS", 0, 2 | full)
                self.write(register, value, index)
            self.until("STATUS", 0, 2)
            self.queued[one.circuit] += 1

    def finish(self, *circuits: str) -> None:
        """Wait until all queued descriptors are complete."""
        for name in circuits or self.queued:
            self.until("COMPLETED", self.queued[name], index=class_number(name))

    def reset(self) -> None:
        """Wait until the endpoint is reset; the first driver that waits starts ``resets``."""
        self.steps.append((5, 0, 0, 0))

    def after_reset(self) -> None:
        """Continue the program here after its endpoint has been reset."""
        self.restart = len(self.steps)
        self.queued = dict.fromkeys(self.queued, 0)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Compile-time sizes of a fabric, in addition to its specification.

    Parameters
    ----------
    flits : int
        Flits in each memory.
    link_cycles, memory_cycles : int
        Cycles of a link in one direction, and from a read to its data.
    """

    flits: int = 256
    link_cycles: int = 4
    memory_cycles: int = 10


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """A switch with an endpoint at each port.

    Parameters
    ----------
    spec : SwitchSpec
        The switch, and the endpoints.
    phases : Mapping of int to int
        Entry of each phase.
    memories : Sequence of array of bytes
        Contents of each endpoint's memory at the beginning, shape (flits, bytes of a flit).
    programs : Sequence of Program
        One for each endpoint.
    faults : int
        Faults in a million flits of a link.
    memory_stalls : int
        Percentage of cycles in which the memory takes nothing.
    resets : Mapping of int to int
        Endpoints that are reset once more, and the delay after the first ``Program.reset``
        [cycles].
    rewrites : Mapping of int to int
        New entries of phases after all ``resets``.
    spread : int
        Interval in which endpoints leave reset [cycles].
    limit : int
        Cycles after which a run has failed.
    seed : int
        Seed of faults, stalls, and of the cycles in which endpoints leave reset.
    """

    spec: SwitchSpec
    phases: Mapping[int, int] = field(default_factory=dict)
    memories: Sequence[Flits]
    programs: Sequence[Program]
    faults: int = 0
    memory_stalls: int = 0
    resets: Mapping[int, int] = field(default_factory=dict)
    rewrites: Mapping[int, int] = field(default_factory=dict)
    spread: int = 200
    limit: int = 100_000
    seed: int = 1


@dataclass(frozen=True)
class Finished:
    """Result of a run.

    Parameters
    ----------
    memories : list of array of bytes
        Contents at the end of the run.
    reads : list of dict of str to list of int
        For each endpoint, the values of each register read by ``show``.
    times : list of list of int
        Cycles in which they were read [cycles].
    cycles : int
        Length of the run.
    marks : list of list of int
        For each endpoint, the cycle in which its driver passed each mark [cycles].
    wrote : list of list of (int, int)
        For each endpoint, the last flit of memory in each series of writes, and its cycle [cycles];
        in order. Only compiled fabrics report it.
    simulated_s : float
        Duration of the simulation [s], for compiled fabrics.
    faults : int
        Flits that links lost or changed; for compiled fabrics a few after the end are included.
    """

    memories: list[Flits]
    reads: list[dict[str, list[int]]]
    times: list[list[int]]
    cycles: int
    marks: list[list[int]]
    wrote: list[list[tuple[int, int]]] = field(default_factory=list)
    simulated_s: float = field(default=0.0, compare=False)
    faults: int = field(default=0, compare=False)


def _switch_program(fabric: Fabric) -> list[tuple[int, int, int, int]]:
    """Return the writes of routes and phases, in the form of ``Access``."""
    steps: list[tuple[int, int, int, int]] = []

    def write(address: int, value: int) -> None:
        steps.append((1, address, value, 0))

    registers = switch_map(fabric.spec)
    status = registers.register("COMMAND_STATUS").address
    access = Access(registers, lambda address: 0, write)
    for port in range(fabric.spec.ports):
        access.write_route(ADDRESSES[port], port)
    for phase, entry in fabric.phases.items():
        access.write_phase(phase, entry)
        steps.append((2, status, 0, 1))
    if fabric.rewrites:
        steps += [(6, 0, 0, 0), (0, 0, max(fabric.resets.values()) + 3, 0)]
    for phase, entry in fabric.rewrites.items():
        access.write_phase(phase, entry)
        steps.append((2, status, 0, 1))
    return steps


def _node(spec: SwitchSpec, size: Sizes, k: int, top: str) -> list[str]:
    """Return an endpoint with its memory, its driver and its link to the switch."""
    bits, rst = spec.data_width, f"rst{k}"
    lines = [
        *plusargs({f"start{k}": 8, f"again{k}": NEVER, f"label{k}": 0, f"seed{k}": 1}),
        f"  wire [31:0] due{k} = asked + again{k};",
        f"  wire rst{k} = now < start{k} || (now >= due{k} && now < due{k} + 3);",
        f"  wire [31:0] at{k} = now >= due{k} ? label{k} : 0;",
        f"  wire [7:0] inc{k} = now >= due{k} ? 8'd2 : 8'd1;",
        *driver(f"n{k}", k, rst, f"at{k}", endpoint_map(spec).address_bits),
        *memory(spec, k, rst, depth=size.flits, cycles=size.memory_cycles),
    ]
    for place, side in enumerate(("up", "down"), 1):
        seed = f"seed{k} + {place}"
        lines += link_line(f"{side}{k}", bits, size.link_cycles, faults="faults", seed=seed)
    lines += known(rst, known_link(f"up{k}", bits) | known_memory(spec, k) | known_slave(f"n{k}"))
    return [*lines, endpoint(top, spec, k, (f"down{k}", f"up{k}"), rst, f"inc{k}")]


def _bench(spec: SwitchSpec, size: Sizes, tops: tuple[str, str]) -> str:
    """Return the module around the fabric."""
    nodes, bits = spec.ports, spec.data_width
    lines = [
        *bench_begin(nodes + 1, {"faults": 0, "stalls": 0, "limit": 0, "start": 8}),
        "  wire rst_switch = now < start;",
        *driver("sw", nodes, "rst_switch", "0", switch_map(spec).address_bits),
    ]
    for k in range(nodes):
        lines += _node(spec, size, k, tops[1])
        lines += known("rst_switch", known_link(f"down{k}", bits))
    lines += known("rst_switch", known_slave("sw"))
    pins = ", ".join(link_pins(str(k), f"up{k}", f"down{k}", bits) for k in range(nodes))
    switch = f"{tops[0]} sw (.clk(clk), .rst(rst_switch), .session_id(8'd9), .irq()"
    lines += [f"  {switch}, {pins}, {axil_pins('sw')});"]
    drivers = [*(f"n{k}" for k in range(nodes)), "sw"]
    edge = [f"    if (|asks && asked == {NEVER}) asked <= now;"]
    return "\n".join([*lines, bench_end(nodes, drivers, edge)])


def compiled(name: str, text: str) -> Path:
    """Return an Icarus program with the top module ``main``, from the cache if present.

    Raises
    ------
    SimulatorError
        Icarus is not installed, or could not build.
    """
    _, folder = find_simulator("icarus")

    def build(place: Path) -> None:
        (place / "fabric.v").write_text(text)
        command = [f"{folder}/iverilog", "-g2005", "-s", "main", "-o", "fabric.vvp", "fabric.v"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SimulatorError(f"icarus: {(done.stderr + done.stdout)[-2000:]}")

    return built(name, [text, str(folder)], build) / "fabric.vvp"


def build_fabric(spec: SwitchSpec, size: Sizes) -> Path:
    """Return a compiled switch with an endpoint at each port, from the cache if present.

    A run fails if anything that leaves a unit out of reset is undefined.

    Raises
    ------
    SimulatorError
        Icarus is not installed, or could not build.
    """
    return compiled("fabric", fabric_text(spec, size))


def fabric_text(spec: SwitchSpec, size: Sizes) -> str:
    """Return the Verilog of a switch with an endpoint at each port; the top module is ``main``."""
    units, tops = switch_and_endpoint(spec)
    return units + MODELS.read_text() + _bench(spec, size, tops)


def write_steps(
    work: Path, programs: Sequence[Sequence[tuple[int, int, int, int]]], length: int = STEPS
) -> None:
    """Write the programs of drivers to files."""
    for k, steps in enumerate(programs):
        if len(steps) >= length:
            raise ValueError(f"a program must have fewer than {length} steps, not {len(steps)}")
        whole = [*steps, *[(4, 0, 0, 0)] * (length - len(steps))]
        text = "".join(f"{a:04x}{b:08x}{c:08x}{d:08x}\n" for a, b, c, d in whole)
        (work / f"program_{k}.hex").write_text(text)


def write_memories(work: Path, memories: Sequence[Flits]) -> None:
    """Write the contents of memories to files."""
    for k, words in enumerate(memories):
        text = "".join(bytes(word[::-1]).hex() + "\n" for word in words)
        (work / f"memory_{k}.hex").write_text(text)


def run_fabric(model: Path, fabric: Fabric, work: Path) -> Finished:
    """Simulate until all programs have ended.

    Raises
    ------
    SimulatorError
        The run did not end well.
    """
    work.mkdir(parents=True, exist_ok=True)
    write_steps(work, [one.steps for one in fabric.programs] + [_switch_program(fabric)])
    write_memories(work, fabric.memories)
    rng = random.Random(fabric.seed)
    plusargs = {"faults": fabric.faults, "stalls": fabric.memory_stalls, "limit": fabric.limit}
    for k, program in enumerate(fabric.programs):
        plusargs[f"start{k}"] = 8 + rng.randrange(fabric.spread)
        plusargs[f"seed{k}"] = rng.randrange(1, 1 << 30)
        plusargs[f"again{k}"] = fabric.resets.get(k, NEVER)
        plusargs[f"label{k}"] = program.restart
    return finished(model, fabric.spec, len(fabric.memories), plusargs, work)


def finished(
    model: Path, spec: SwitchSpec, nodes: int, plusargs: Mapping[str, int], work: Path
) -> Finished:
    """Run a model of endpoints with its plusargs, and return its result.

    Raises
    ------
    SimulatorError
        The run did not end well.
    """
    _, folder = find_simulator("icarus")
    command = [f"{folder}/vvp", "-n", str(model), *(f"+{a}={b}" for a, b in plusargs.items())]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    reported = reported_by(done.stdout)
    if not reported:
        raise SimulatorError(f"fabric: {(done.stdout + done.stderr)[-2000:]}")
    return collected(spec, nodes, reported, work)


def collected(spec: SwitchSpec, nodes: int, reported: Mapping[str, Any], work: Path) -> Finished:
    """Return the reports and memories of a run; see ``finished``."""
    wrong = {kind: reported[kind] for kind in ("failed", "answers", "late") if reported.get(kind)}
    if wrong or not reported.get("ended"):
        raise SimulatorError(f"fabric: {wrong or 'it did not end'}")
    names = {word.address: word.register.name for word in endpoint_map(spec).words()}
    reads: list[dict[str, list[int]]] = [{} for _ in range(nodes)]
    shown = by_node(reported, "reads", nodes)
    for found, own in zip(reads, shown, strict=True):
        for address, value, _ in own:
            found.setdefault(names[address], []).append(value)
    return Finished(
        memories=memories_of(work, nodes),
        reads=reads,
        times=[[now for _, _, now in own] for own in shown],
        cycles=reported["ended"][0],
        marks=[[now for (now,) in own] for own in by_node(reported, "marks", nodes)],
        wrote=[[(flit, now) for flit, now in own] for own in by_node(reported, "wrote", nodes)],
        simulated_s=reported.get("wall_s", 0.0),
        faults=sum(reported.get("faults", ())),
    )
