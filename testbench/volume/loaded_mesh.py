"""A mesh or torus of Verilated routers under open-loop traffic: latency against load."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.mesh.plan import DIRECTIONS, MeshPlan
from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import MeshSpec
from gen.emitter import VerilogEmitter
from testbench.sim.harness import build_harness
from testbench.stimulus.meshes import PATTERNS

from .conditions import Conditions
from .program import harness_sources, run_program

__all__ = ["LOADS", "MeshLoad", "build_mesh", "run_mesh"]

LOADS = ("uniform", "hot spot", *PATTERNS)
"""Traffic patterns, by their numbers in the harness.

The first two are random: "hot spot" sends an eighth to one NPU in addition to uniform traffic.
Others are those of ``testbench.stimulus.meshes``, which the harness gets as a table.
"""


@dataclass(frozen=True, kw_only=True)
class MeshLoad(Conditions):
    """Traffic of the endpoints of a mesh, and the conditions of a run.

    Parameters
    ----------
    load : float
        Mean data flits that an endpoint creates per cycle, at random times.
    pattern : str
        One of ``LOADS``.
    flits : int
        Length of a packet.
    circuits : int
        Virtual channels used by pairs of endpoints, 1 to 3.
    timeout_cycles : int
        Time without an ack after which an endpoint retransmits; by default longer than any packet
        waits in a full mesh.
    warm, measure : int
        Cycles before the measurement, and its length.
    """

    load: float
    pattern: str = "uniform"
    flits: int = 8
    circuits: int = 1
    timeout_cycles: int = 65535
    warm: int = 2000
    measure: int = 6000
    delay: int = 0
    idle_limit: int = 5000  # shorter than a stuck packet waits in a router

    def options(self) -> dict[str, float]:
        return super().options() | {"pattern": LOADS.index(self.pattern)}


def build_mesh(mesh: MeshSpec, emitter: VerilogEmitter | None = None) -> Path:
    """Return the program of a mesh whose routers all have five ports.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    emitter : VerilogEmitter, optional
        One that puts broken units into the routers.

    Raises
    ------
    ValueError
        Flits have not 32 bits, or routers lack ports: a mesh without controllers, or a ring.
    SimulatorError
        Verilator is not installed or could not build.
    """
    plan = mesh.plan
    if mesh.link.data_width != 32 or any(one.directions != DIRECTIONS for one in plan.units):
        raise ValueError("mesh must have flits of 32 bits, and all ports, for the harness")
    router = MeshRouter(mesh=mesh, directions=DIRECTIONS)
    ends = [[to(mesh, source) for source in range(mesh.routers)] for to in PATTERNS.values()]
    fixed = [[source if end is None else end for source, end in enumerate(row)] for row in ends]
    entries = [
        [one.number * len(DIRECTIONS) + one.port if one.kind == "unit" else -1 for one in unit.ends]
        for unit in plan.units
    ]
    lines = [
        f"constexpr unsigned NODES = {plan.npus}, HOT_SPOT = {plan.npus // 2 + mesh.width // 2};",
        "// Position of each router.",
        f"constexpr unsigned POSITIONS[NODES] = {_table([one.position for one in plan.units])};",
        "// Port that each port of each router leads to, as router * ports + port; -1 of others.",
        f"constexpr int ENTRIES[NODES][{len(DIRECTIONS)}] = {_table(entries)};",
        f"#define EACH_PORT(DO) {' '.join(f'DO({k})' for k in range(len(DIRECTIONS)))}",
        "// Where each end sends to in a fixed pattern; to itself if it sends nothing.",
        f"constexpr unsigned FIXED[][NODES] = {_table(fixed)};",
        "// Directions from an end's router to another: that which addresses name, and the other.",
        f"constexpr unsigned CHOICES[NODES][NODES][2] = {_table(_choices(plan))};",
    ]
    sources = harness_sources("loaded_mesh.cpp", router.unit_name, mesh.link, lines)
    return build_harness(router, sources, emitter)


def _choices(plan: MeshPlan) -> list[list[list[int]]]:
    """Return the directions of both routes at the first router, for each pair.

    The number of an NPU is that of its router. At its own router any direction stands for none.
    """
    ends = range(plan.npus)
    return [
        [[plan.exit(a, a, b, alternate=alternate) % 4 for alternate in (False, True)] for b in ends]
        for a in ends
    ]


def _table(values: object) -> str:
    """Return nested lists of numbers in C++."""
    return str(values).replace("[", "{").replace("]", "}")


def run_mesh(program: Path, load: MeshLoad) -> dict[str, Any]:
    """Run a mesh; return the offered and accepted load per endpoint, latencies, and errors.

    Endpoints stop creating packets after the measurement, and all packets in flight must arrive.
    The mesh is ``wedged`` if packets wait and no endpoint receives anything for ``idle_limit``
    cycles. A router drops a stuck packet, which is an error, but only after
    ``head_of_line_timeout_cycles``.

    Parameters
    ----------
    program : Path
        Program from ``build_mesh``.
    load : MeshLoad
        Traffic of the endpoints, and faults of links and routers.

    Raises
    ------
    RuntimeError
        It could not start.
    subprocess.TimeoutExpired
        It does not end.
    """
    found = run_program(program, load.options(), load.plusargs)
    wrong = found["wrong"] or found["errors"] or found["wedged"]
    # Flits are dropped only if a link damaged them.
    return {**found, "right": not (wrong or (found["dropped"] and not load.faults_per_million))}
