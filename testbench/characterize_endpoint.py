"""Timing record of an endpoint, measured by co-simulation of two of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, exchange
from fred_hw.datapath.network import network_latency_cycles
from fred_hw.spec import SwitchSpec
from gen.clock import CLOCK_HZ, CLOCK_SOURCE
from testbench.collectives.fabric import (
    ADDRESSES,
    Fabric,
    Flits,
    Program,
    Sizes,
    build_fabric,
    run_fabric,
)
from testbench.collectives.pair import PairRun, build_pair, run_pair
from testbench.designs import MeasuredDesign, endpoint_design
from testbench.measurement import Say, SpecMeasurement
from testbench.models.golden import reduction_of, words_of
from testbench.models.golden_ring import all_reduce
from testbench.sim.tools import SimulatorError

__all__ = ["EndpointMeasurement"]

_LINK, _MEMORY = 24, 40
"""Cycles of the link and of memories, which the figures exclude."""

_LONG_LINK = 48
"""Delay of links on which a buffer does not cover the round trip [cycles]."""

_CHUNKS = 12
"""Chunks of long runs; rates are measured after the first quarter."""


class _Pair:
    """Two endpoints, with the parameters of their measurement.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    work : Path
        Folder for files of runs.
    seed : int
        Seed of the data.
    """

    def __init__(self, spec: SwitchSpec, work: Path, seed: int) -> None:
        self.spec, self.work = spec, work
        self.flit = spec.data_width // 8
        self.chunk = spec.endpoint.chunk_flits
        self.half = _CHUNKS * self.chunk  # most flits of a buffer
        size = Sizes(flits=2 * self.half, link_cycles=_LINK, memory_cycles=_MEMORY)
        self.model = build_pair(spec, size)
        self.rng = np.random.default_rng(seed)
        self.checked = 0

    def exchange(
        self, node: int, flits: int, *, send: bool = True, receive: bool = True, phase: bool = False
    ) -> Descriptor:
        """Return an exchange with the other endpoint; with a phase it is a separate flow."""
        flow = FlowId(0) if phase else FlowId(1 - node, unicast=True)
        sent, received = self.buffers(flits)
        return exchange("dp", (sent, flow) if send else None, (received, flow) if receive else None)

    def ring(self, node: int, flits: int, fsms: int, message: int = 0) -> Descriptor:
        """Return an all-reduce around both, with messages of a given size or half a slot."""
        flow = FlowId(1 - node, unicast=True)
        source, destination = self.buffers(flits)
        message_bytes = (message or self.chunk // 2) * self.flit
        return Descriptor(
            operation="all_reduce",
            circuit="dp",
            source=source,
            destination=destination,
            send=flow,
            receive=flow,
            ring=Ring(members=2, rank=node, message_bytes=message_bytes, fsms=fsms),
        )

    def buffers(self, flits: int) -> tuple[Buffer, Buffer]:
        """Return the source buffer and the result buffer."""
        size = flits * self.flit
        return Buffer(0, size), Buffer(self.half * self.flit, size)

    def run(
        self, name: str, parts: Callable[[int], Sequence[Descriptor]]
    ) -> tuple[PairRun, list[Flits]]:
        """Return the results of running jobs on both endpoints, and the initial memories."""
        return self.run_programs(name, [self._program(node, parts(node)) for node in range(2)])

    def run_programs(self, name: str, programs: Sequence[Program]) -> tuple[PairRun, list[Flits]]:
        """Return the results of running programs on both endpoints, and the initial memories."""
        shape = (2 * self.half, self.flit)
        before = [self.rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(2)]
        done = run_pair(self.model, self.spec, programs, before, self.work / name)
        if any(any(one["ERROR"]) for one in done.finished.reads):
            raise SimulatorError(f"{name}: an endpoint has refused a descriptor")
        return done, before

    def _program(self, node: int, parts: Sequence[Descriptor]) -> Program:
        """Return an endpoint's software; reads ERROR before the first COMMAND and at the end."""
        program = Program(self.spec)
        program.begin(node)
        program.wait(60)
        for number, descriptor in enumerate(parts):
            program.queue(descriptor)
            if number == 0:
                command = max(at for at, step in enumerate(program.steps) if step[0] == 1)
                error = program.registers.register("ERROR").address
                program.steps.insert(command, (3, error, 0, 0))
        program.finish("dp")
        program.show("ERROR")
        return program

    def words(self, memory: Flits, buffer: Buffer) -> Any:
        """Return the content of a buffer as raw numbers, shape (flits, lanes)."""
        first, size = buffer.address // self.flit, buffer.size // self.flit
        return words_of(memory[first : first + size], self.spec)

    def check(self, name: str, done: PairRun, node: int, flits: int, want: Any) -> None:
        """Fail if a result is wrong."""
        if (self.words(done.finished.memories[node], self.buffers(flits)[1]) != want).any():
            raise SimulatorError(f"{name}: endpoint {node} has a wrong result")
        self.checked += flits


def _one_way(pair: _Pair) -> dict[str, Any]:
    """Measure half a chunk in one direction, followed by another in a different flow.

    It is less than asks for an ack at once, so this is the longest that one waits for it.
    """
    chunk = pair.chunk // 2

    def parts(node: int) -> list[Descriptor]:
        directions = {"send": node == 0, "receive": node == 1}
        return [pair.exchange(node, chunk, phase=phase, **directions) for phase in (False, True)]

    done, before = pair.run("one_way", parts)
    pair.check("one_way", done, 1, chunk, pair.words(before[0], pair.buffers(chunk)[0]))
    data, acks = done.crossed[0]["data"], done.crossed[1]["ack"]
    begun, ended = done.finished.times[0][0], done.finished.times[1][-1]
    came = data[chunk - 1] + _LINK  # arrival of the last flit of the first flow
    acked = next(cycle for cycle in acks if cycle > came)
    loaded = _MEMORY + chunk
    return {
        "start_cycles": data[0] - begun - loaded,
        "finish_cycles": ended - data[-1] - _LINK,
        "ack_cycles": acked - came,
        "next_cycles": data[chunk] - acked - _LINK - loaded,
    }


def _answers(pair: _Pair) -> dict[str, Any]:
    """Measure an ack for a whole interval of packets, which is sent without a pause."""
    protocol = pair.spec.protocol
    flits = protocol.ack_interval * protocol.packet_flits

    def parts(node: int) -> list[Descriptor]:
        return [pair.exchange(node, flits, send=node == 0, receive=node == 1)]

    done, before = pair.run("answers", parts)
    pair.check("answers", done, 1, flits, pair.words(before[0], pair.buffers(flits)[0]))
    came = done.crossed[0]["data"][-1] + _LINK
    return {"answer_cycles": min(cycle for cycle in done.crossed[1]["ack"] if cycle > came) - came}


def _received(pair: _Pair) -> dict[str, Any]:
    """Measure the job after a descriptor that receives more than it sends, in another flow."""
    less, more = pair.spec.protocol.packet_flits, pair.chunk

    def parts(node: int) -> list[Descriptor]:
        own, other = pair.exchange(node, less), pair.exchange(node, more)
        first = replace(own, destination=other.destination)
        if node == 1:
            first = replace(other, destination=own.destination)
        directions = {"send": node == 0, "receive": node == 1}
        return [first, pair.exchange(node, less, phase=True, **directions)]

    done, before = pair.run("received", parts)
    pair.check("received", done, 0, more, pair.words(before[1], pair.buffers(more)[0]))
    came = done.crossed[1]["data"][more - 1] + _LINK
    begun = done.crossed[0]["data"][less]
    return {"received_cycles": begun - came - _MEMORY - less}


def _both_ways(pair: _Pair) -> dict[str, Any]:
    """Measure the rate at which an endpoint sends and receives at the same time."""
    flits = _CHUNKS * pair.chunk
    done, before = pair.run("both_ways", lambda node: [pair.exchange(node, flits)])
    for node in range(2):
        sent = pair.words(before[1 - node], pair.buffers(flits)[0])
        pair.check("both_ways", done, node, flits, sent)
    return {"flits_per_cycle": _rate(done.crossed[0]["data"])}


def _rings(pair: _Pair) -> dict[str, Any]:
    """Measure a ring step alone, the rate of all state machines, and successive rings.

    In a step a block is so short that what it is reduced with has come before it.
    """
    found: dict[str, Any] = {}
    machines = pair.spec.endpoint.fsms
    for name, flits, fsms, size in (
        ("step", pair.chunk // 2, 1, 0),
        ("ring", _CHUNKS * pair.chunk, machines, 0),
        ("next_round", 2 * machines, machines, 1),
    ):
        done, before = pair.run(
            name, lambda node, f=flits, m=fsms, s=size: [pair.ring(node, f, m, s)]
        )
        sent = [pair.words(memory, pair.buffers(flits)[0]) for memory in before]
        want = all_reduce([sent], reduction_of(pair.spec))
        for node in range(2):
            pair.check(name, done, node, flits, want)
        data, other = (one["data"] for one in done.crossed)
        if name == "ring":
            found["ring_flits_per_cycle"] = _rate(data)
            continue
        if name == "next_round":
            # The first message of each state machine is a loaded part of one flit.
            found["turn_cycles"] = max(b - a for a, b in pairwise(data[:machines]))
            continue
        message = flits // 2
        found["ring_start_cycles"] = data[0] - done.finished.times[0][0] - _MEMORY - message
        found["step_cycles"] = data[message] - other[message - 1] - _LINK
    return found


def _commands(pair: _Pair) -> dict[str, Any]:
    """Measure the time that software takes between the COMMANDs of two rings.

    ERROR is read before each, and twice before the second one: such a read is not counted.
    """
    flits = pair.chunk // 2
    error = endpoint_map(pair.spec).register("ERROR").address
    programs: list[Program] = []
    for node in range(2):
        program = Program(pair.spec)
        program.begin(node)
        program.wait(60)
        for number in range(2):
            for register, index, value in pair.ring(node, flits, 1).writes(pair.flit):
                if register == "COMMAND":
                    program.steps += [(3, error, 0, 0)] * (1 + number)
                program.write(register, value, index)
            program.until("STATUS", 0, 2)
            program.queued["dp"] += 1
        program.finish("dp")
        programs.append(program)
    done, before = pair.run_programs("commands", programs)
    sent = [pair.words(memory, pair.buffers(flits)[0]) for memory in before]
    for node in range(2):
        pair.check("commands", done, node, flits, all_reduce([sent], reduction_of(pair.spec)))
    first, second, again = done.finished.times[0]
    return {"command_cycles": (second - first) - (again - second)}


def _credit_cycles(spec: SwitchSpec, work: Path, rng: np.random.Generator) -> int:
    """Measure the round trip of a credit between an endpoint and a switch.

    Links and the interconnect, which is that of a switch of two ports, are left out. Links are so
    long that a buffer does not cover the round trip, so each round trip carries as much as that.
    """
    small = spec.with_changes(ports=2)
    flit, lengths = small.data_width // 8, (256, 1024)
    model = build_fabric(small, Sizes(flits=2 * lengths[-1], link_cycles=_LONG_LINK))
    cycles = []
    for flits in lengths:
        shape = (2 * lengths[-1], flit)
        memories = [rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(2)]
        programs = [Program(small) for _ in range(2)]
        source, result = Buffer(0, flits * flit), Buffer(lengths[-1] * flit, flits * flit)
        ends = [FlowId(address, unicast=True) for address in ADDRESSES[:2]]
        parts = [exchange("dp", (source, ends[1])), exchange("dp", None, (result, ends[0]))]
        for node, program in enumerate(programs):
            program.begin(ADDRESSES[node])
            program.wait(300)
            program.queue(parts[node])
            program.finish("dp")
            program.show("ERROR")
        fabric = Fabric(spec=small, memories=memories, programs=programs, spread=1)
        done = run_fabric(model, fabric, work / f"credits_{flits}")
        came = done.memories[1][lengths[-1] : lengths[-1] + flits]
        if any(any(one["ERROR"]) for one in done.reads) or (came != memories[0][:flits]).any():
            raise SimulatorError("credits: the switch delivered wrong data")
        cycles.append(done.times[1][-1])
    per_flit = (cycles[1] - cycles[0]) / (lengths[1] - lengths[0])
    trip = round(small.protocol.buffer_flits * per_flit)
    return trip - 2 * _LONG_LINK - network_latency_cycles(small)


def _rate(cycles: Sequence[int]) -> float:
    """Return the flits per cycle after the first quarter."""
    first = len(cycles) // 4
    return (len(cycles) - 1 - first) / (cycles[-1] - cycles[first])


@dataclass(frozen=True, kw_only=True)
class EndpointMeasurement(SpecMeasurement[SwitchSpec]):
    """Two collective endpoints on one link, in Icarus.

    The clock is that of the published port rate. Cycles of links and of memory, and those in which
    a chunk is loaded, are left out, as they depend on what stands there.

    Raises
    ------
    SimulatorError
        Another simulator is asked for.
    """

    SCHEMA = "fred-endpoint-timing/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.simulators != ("icarus",):
            message = f"must be icarus for an endpoint, not {', '.join(self.simulators)}"
            raise SimulatorError(message)

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": endpoint_design(self.measured_spec)}

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        pair = _Pair(self.measured_spec, work, self.seed)
        figures: dict[str, Any] = {
            **_one_way(pair),
            **_answers(pair),
            **_received(pair),
            **_both_ways(pair),
            **_rings(pair),
            **_commands(pair),
            "credit_cycles": _credit_cycles(self.measured_spec, work, pair.rng),
        }
        return {
            "endpoint": figures,
            "flits_checked": pair.checked,
            "clock": {"hz": CLOCK_HZ, "source": CLOCK_SOURCE},
        }
