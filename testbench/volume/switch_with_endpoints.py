"""A Verilated switch with an endpoint at each port, and compiled faulty links."""

# Amaranth has no type hints.
# pyright: reportAttributeAccessIssue=false, reportReturnType=false, reportArgumentType=false

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib.wiring import In, Member, Out

from fred_hw.control.axi_lite import PREFIX, axi_lite_members
from fred_hw.control.switch_map import switch_map
from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.member import member, members
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch
from fred_hw.unit import Unit, place
from gen.emitter import VerilogEmitter
from testbench.stimulus.addresses import address_of
from testbench.stimulus.phases import Phase, make_phase_run
from testbench.stimulus.traffic import random_flit

from .conditions import CLEAN, Conditions
from .program import run_program
from .scenario import scripted
from .traffic import configure
from .wires import build_wired, join_link, join_payload, wires

__all__ = [
    "Load",
    "SwitchWithEndpoints",
    "build_switch_with_endpoints",
    "run_switch_with_endpoints",
]

_NAMES = ("send_phase", "send_peer", "receive_phase", "receive_peer")


def _flow_members(spec: SwitchSpec) -> dict[str, Member]:
    """Return the members of all flows."""
    fields = spec.protocol.fields
    widths = {"phase": fields["phase"], "peer": fields["source"]}
    numbers = range(per_class(spec) * spec.ports)
    return {f"{name}{n}": In(widths[name.split("_")[1]]) for n in numbers for name in _NAMES}


class SwitchWithEndpoints(Unit):
    """A switch and an endpoint for each port; the bench provides the links.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Timing
    ------
    Latency : that of its parts.
    Throughput : that of its parts.
    Paths : those of its parts.
    Reset : that of its parts.
    """

    s_axil = members(lambda u: axi_lite_members(switch_map(u.spec).address_bits))
    """Register bus of the switch."""
    pins = members(lambda u: wires(u.spec, 2 * u.spec.ports, per_class(u) * u.spec.ports))
    """``m<k>_valid``, ``ready``, ``last``, ``data``, ``header``, ``crc`` and ``s<k>_...`` for k
    below 2 P: links from and to endpoint k, then from and to the switch's port k - P.
    ``i<n>_valid``, ``ready``, ``last``, ``data`` and ``o<n>_...``: payload that endpoint n // C
    sends and receives in urgency class n % C, of C."""
    idle = member(Out, lambda u: per_class(u) * u.spec.ports)
    """Outputs of the endpoints."""
    rewinds = member(Out, lambda u: per_class(u) * u.spec.ports)
    """Outputs of the endpoints."""
    error = member(Out, 1)
    """Whether an endpoint reports an error; not ``unknown``, as sources may be ahead of
    destinations."""
    flows = members(lambda u: _flow_members(u.spec))
    """Flows of the endpoints: ``send_phase<n>``, ``send_peer<n>``, ``receive_phase<n>`` and
    ``receive_peer<n>``."""

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec = spec
        self.unit_name = "switch_with_endpoints"
        super().__init__()

    def build(self, m: Module) -> None:
        ports = self.spec.ports
        switch = place(m, "switch", Switch(spec=self.spec))
        ends = [place(m, f"end_{k}", Endpoint(spec=self.spec)) for k in range(ports)]
        for path, entry, value in switch.signature.flatten(switch):
            name = str(path[0])
            if name.startswith(PREFIX):
                mine = getattr(self, name)
                m.d.comb += value.eq(mine) if entry.flow == In else mine.eq(value)
        for k, end in enumerate(ends):
            join_link(m, self, k, end)
            m.d.comb += end.address.eq(address_of(k))
            join_link(m, self, ports + k, switch, str(k))
            for circuit in range(per_class(self)):
                self._flow(m, per_class(self) * k + circuit, end, circuit)
        causes = [
            getattr(end, name)
            for end in ends
            for name in ("kind_error", "length_error", "overflow")
        ]
        m.d.comb += [
            self.error.eq(Cat(causes).any()),
            self.idle.eq(Cat(end.idle for end in ends)),
            self.rewinds.eq(Cat(end.rewinds for end in ends)),
        ]

    def _flow(self, m: Module, n: int, end: Any, circuit: int) -> None:
        for side in ("send", "receive"):
            flow, phase = getattr(end, f"{side}_flow")[circuit], getattr(self, f"{side}_phase{n}")
            m.d.comb += [
                flow.phase.eq(phase),
                flow.peer.eq(getattr(self, f"{side}_peer{n}")),
                flow.generation.eq(Mux(phase == self.spec.protocol.online, 0, phase)),
            ]
        join_payload(m, self, n, end.send[circuit], end.receive[circuit])


def build_switch_with_endpoints(spec: SwitchSpec, emitter: VerilogEmitter | None = None) -> Path:
    """Verilate switch and endpoints with the harness and return the program.

    Parameters
    ----------
    spec : SwitchSpec
        The switch; flits of 32 to 64 bits.
    emitter : VerilogEmitter, optional
        One that puts broken units into the design.

    Raises
    ------
    ValueError
        The flits have another width.
    SimulatorError
        Verilator is not installed or could not build.
    """
    top, links = SwitchWithEndpoints(spec), 2 * spec.ports
    flows = per_class(spec) * spec.ports
    bench = "switch_with_endpoints.cpp"
    return build_wired(bench, top, spec, emitter, flows=flows, links=links, more=_NAMES)


@dataclass(frozen=True, kw_only=True)
class Load:
    """Traffic of a switch with endpoints.

    Parameters
    ----------
    packets : int
        Packets of each source of each phase, in each round.
    unicasts : int, optional
        A virtual channel without phases: on it each port k sends as many packets to port k + 1.
    rounds : int
        Number of times that each phase is executed.
    full : bool
        Whether all packets have the largest size.
    """

    packets: int
    unicasts: int | None = None
    rounds: int = 1
    full: bool = False


def run_switch_with_endpoints(
    program: Path,
    spec: SwitchSpec,
    table: Sequence[Phase],
    load: Load,
    conditions: Conditions = CLEAN,
) -> dict[str, Any]:
    """Run phases on all virtual channels at the same time; return the counts of the harness.

    Phases on one virtual channel follow each other: a port sends the next when the previous one is
    acknowledged completely, and receives the next when it has received the previous one completely.

    Parameters
    ----------
    program, spec : Path, SwitchSpec
        Program from :func:`build_switch_with_endpoints`.
    table : sequence of Phase
        Phases to execute.
    load : Load
        Amount of traffic.
    conditions : Conditions
        Conditions of the run.

    Returns
    -------
    dict
        ``right`` (everything arrived as the golden model says, in order, each once, and is
        acknowledged), ``flits``, ``matched``, ``wrong``, ``errors``, ``cycles``, ``span_cycles``,
        ``rewinds``, and ``faults`` by kind.
    """
    numbers = _scenario(random.Random(conditions.seed), spec, table, load)
    return run_program(program, conditions.options(), conditions.plusargs, numbers)


_POOL = 31  # different packets of a flow; odd, so that packets a power of two apart differ

Flows = dict[tuple[int, int], list[tuple[int, ...]]]
"""Packets, keyed by phase and peer."""


def _scenario(
    rng: random.Random, spec: SwitchSpec, table: Sequence[Phase], load: Load
) -> Iterator[int]:
    """Yield the scenario as the numbers that the harness reads."""
    yield from scripted(configure(spec, table))
    for flows in _pools(rng, spec, table, load).values():
        yield len(flows)
        for own in flows.values():
            yield len(own)
            for flits in own:
                yield from (len(flits), *flits)
        # An endpoint without a flow is assigned a phase without packets.
        jobs = [(*flow, place, load.packets) for place, flow in enumerate(flows)] * load.rounds
        jobs = jobs or [(spec.protocol.phases - 1, 0, 0, 0)]
        yield len(jobs)
        for job in jobs:
            yield from job


def _pools(
    rng: random.Random, spec: SwitchSpec, table: Sequence[Phase], load: Load
) -> dict[tuple[int, int, str], Flows]:
    """Return the packets that each port sends and expects on each virtual channel."""
    ports, most = spec.ports, spec.protocol.packet_flits

    def length() -> int:
        return most if load.full else rng.randint(1, most)

    pools: dict[tuple[int, int, str], Flows] = {
        (port, circuit, side): {}
        for port in range(ports)
        for circuit in range(per_class(spec))
        for side in ("sent", "wanted")
    }
    for phase in table:
        for _ in range(_POOL):
            run = make_phase_run(rng, spec, phase, [length() for _ in phase.flows])
            for side in ("sent", "wanted"):
                for port, packet in getattr(run, side).items():
                    flows = pools[port, phase.circuit, side]
                    flows.setdefault((phase.number, 0), []).append(packet.flits)
    if load.unicasts is not None:
        for port in range(ports):
            own = [tuple(random_flit(rng, spec) for _ in range(length())) for _ in range(_POOL)]
            other, online = (port + 1) % ports, spec.protocol.online
            pools[port, load.unicasts, "sent"][online, address_of(other)] = own
            pools[other, load.unicasts, "wanted"][online, address_of(port)] = own
    return pools
