"""Volume test of a whole switch, with compiled endpoints and faulty links on all ports."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fred_hw.control.switch_map import CAUSES
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch
from gen.emitter import VerilogEmitter
from testbench.sim.harness import build_harness

from .conditions import FAULT_KINDS, Conditions
from .fabric import Fabric
from .program import harness_sources, run_program
from .scenario import Burst, Operations, Unicast, Write, fabric_routes, scenario
from .traffic import Traffic, configure

__all__ = [
    "LinkFault",
    "Slow",
    "Stop",
    "SwitchConditions",
    "build_switch",
    "recovery_cycles",
    "run_fabric",
    "run_switch",
]


@dataclass(frozen=True)
class LinkFault:
    """The one fault of a run.

    Parameters
    ----------
    port : int
        The link.
    at : int
        Number of the flit on it, from 0, control flits included.
    kind : str
        One of ``FAULT_KINDS``.
    from_switch : bool
        The direction.
    """

    port: int
    at: int
    kind: str = "lost"
    from_switch: bool = True


@dataclass(frozen=True)
class Stop:
    """A time span in which a port receives flits but frees no buffer space.

    Parameters
    ----------
    port : int
        Which one.
    at, cycles : int
        When it begins, and for how long.
    """

    port: int
    at: int
    cycles: int


@dataclass(frozen=True)
class Slow:
    """A port that frees space for a largest packet per virtual channel only at fixed times.

    Parameters
    ----------
    port : int
        Which one.
    cycles : int
        From one time to the next.
    """

    port: int
    cycles: int


@dataclass(frozen=True, kw_only=True)
class SwitchConditions(Conditions):
    """Run conditions: faults, pauses and delays of the switch and its NPUs.

    While an NPU stalls, the packets that it has received keep their buffer space.

    Parameters
    ----------
    fault : LinkFault, optional
        A single fault.
    stop : Stop, optional
        A port that stops for a while.
    slow : Slow, optional
        A port that is slow.
    start_spread, gap_cycles : int
        Largest random delay of a virtual channel of a port before it starts, and after a burst.
    interval_cycles : int
        Minimum number of cycles between two packets of a burst, without retransmissions; 0 for full
        rate.
    trace : bool
        Whether the result has ``arrivals``.
    written_phase : int, optional
        A phase whose packets are not checked, because its entry may change at any time.
    """

    fault: LinkFault | None = None
    stop: Stop | None = None
    slow: Slow | None = None
    start_spread: int = 0
    gap_cycles: int = 0
    interval_cycles: int = 0
    trace: bool = False
    written_phase: int | None = None
    idle_limit: int = 500_000

    def options(self) -> dict[str, float]:
        found = super().options()
        if self.fault:
            found |= {
                "fault_port": self.fault.port,
                "fault_at": self.fault.at,
                "fault_kind": FAULT_KINDS.index(self.fault.kind),
                "fault_direction": int(self.fault.from_switch),
            }
        for name, one in (("stop", self.stop), ("slow", self.slow)):
            if one:
                found |= {f"{name}_{key}": value for key, value in asdict(one).items()}
        return found


def build_switch(spec: SwitchSpec, emitter: VerilogEmitter | None = None) -> Path:
    """Verilate a switch with its harness; return the program, from the cache if present.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; flits of up to 64 bits.
    emitter : VerilogEmitter, optional
        One that puts broken units into the design.

    Raises
    ------
    ValueError
        The flits are wider.
    SimulatorError
        Verilator is not installed or could not build.
    """
    if spec.data_width > 64:
        raise ValueError(f"data_width must be 64 or less for the harness, not {spec.data_width}")
    unit = Switch(spec=spec)
    ports = " ".join(f"DO({port})" for port in range(spec.ports))
    lines = [f"#define EACH_PORT(DO) {ports}"]
    return build_harness(
        unit, harness_sources("loaded_switch.cpp", unit.unit_name, spec, lines), emitter
    )


def run_switch(
    program: Path,
    spec: SwitchSpec,
    traffic: Traffic,
    operations: Operations | None = None,
    conditions: SwitchConditions = SwitchConditions(),
) -> dict[str, Any]:
    """Send packets through a switch; return the counts of the harness.

    Parameters
    ----------
    program, spec : Path, SwitchSpec
        Program from :func:`build_switch`.
    traffic : Traffic
        Traffic to send.
    operations : sequence, optional
        Register writes at the start; without it the routes and the phases of ``traffic``.
    conditions : SwitchConditions
        Conditions of the run.

    Returns
    -------
    dict
        ``right``
            All packets have arrived at all destinations, in order, each once, with the payload of
            the golden model, all are acknowledged, and no rule was broken.
        ``flits``, ``packets``, ``wanted_packets``
            Delivered, and expected, at all outputs together.
        ``wrong``, ``violations``, ``messages``
            Wrong flits; violations of docs/reference/protocol.md with them; the first of them.
        ``cycles``, ``late_flits``
            Cycles until all was acknowledged; data flits that the switch sent after that.
        ``resent``, ``timeouts``, ``stomped``
            Packets that sources started again, retransmissions after a timeout, flits that the
            switch sent with an inverted CRC.
        ``preemptions``, ``source_preemptions``
            Number of times that a packet on a more urgent virtual channel left, or was sent, before
            a burst on a less urgent one ended.
        ``latency_cycles``
            From the last source's first data flit on ``s<k>_axis`` to the first on any
            ``m<k>_axis``: the latency of a lone flit, if that is all that is sent.
        ``to_switch``, ``from_switch``, ``faults_to_switch``, ``faults_from_switch``
            Flits by kind; faults by kind.
        ``in``, ``out``
            Per port: ``flits``, those of ``data``, cycles of the ``first`` and ``last`` of these,
            and ``rate``, data flits per cycle between them.
        ``link_faults``
            Faults from each NPU, then from each port of the switch.
        ``fault_cycle``
            Cycle of the single fault.
        ``arrivals``
            With ``trace``, the cycle in which each packet was complete, by "port/phase"; a unicast
            has ``phases`` plus its source in place of a phase.
        ``state``
            State of each NPU if not everything was delivered.
    """
    if operations is None:
        operations = configure(spec, traffic.phases)
    numbers = traffic.numbers(spec, operations)
    return run_program(program, conditions.options(), conditions.plusargs, numbers)


def run_fabric(
    program: Path,
    spec: SwitchSpec,
    fabric: Fabric,
    steps: Sequence[Write | Burst | Unicast],
    conditions: SwitchConditions = SwitchConditions(),
) -> dict[str, Any]:
    """Run steps on connected switches; return the result of :func:`run_switch` and more.

    Ports of all switches are counted together, switch by switch.

    Parameters
    ----------
    program, spec : Path, SwitchSpec
        Program from :func:`build_switch`, and specification of each switch.
    fabric : Fabric
        Connections of the switches.
    steps : sequence
        Steps to execute.
    conditions : SwitchConditions
        Conditions of the run.

    Returns
    -------
    dict
        ``errors``
            For each switch, the causes in its register ERROR at the end.
        ``rewrites``
            Number of times that software rewrote a phase.
    """
    numbers = scenario(spec, fabric, fabric_routes(spec, fabric), steps)
    found = run_program(program, conditions.options(), conditions.plusargs, numbers)
    found["errors"] = [
        {cause for place, cause in enumerate(CAUSES) if word >> place & 1}
        for word in found["registers"]
    ]
    return found


def recovery_cycles(clean: Mapping[str, Any], faulty: Mapping[str, Any], tolerance: int = 8) -> int:
    """Return the cycles from a single fault until packets arrive as early as without it.

    Parameters
    ----------
    clean, faulty : mapping
        Results of the same run with ``trace``, without and with a fault. Sources must have spare
        cycles, see ``interval_cycles``, or the delay is never caught up.
    tolerance : int
        Cycles that do not count as late: acks and limits sent at other times than before delay
        packets by a flit or two permanently.

    Raises
    ------
    ValueError
        The last packet of a flow is late, so the runs are too short.
    """
    recovered = faulty["fault_cycle"]
    for flow, cycles in clean["arrivals"].items():
        pairs = list(zip(cycles, faulty["arrivals"][flow], strict=True))
        late = [second for first, second in pairs if second > first + tolerance]
        if late and late[-1] == pairs[-1][1]:
            raise ValueError(f"runs must go on until flow {flow} has caught up")
        recovered = max([recovered, *late[-1:]])
    return recovered - faulty["fault_cycle"]
