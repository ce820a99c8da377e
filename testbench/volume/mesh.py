"""A mesh of Verilated routers under open-loop traffic: latency against load."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import DIRECTIONS, MeshSpec
from fred_hw.mesh.ways import way
from gen.emitter import VerilogEmitter
from testbench.sim.harness import build_harness
from testbench.stimulus.meshes import PATTERNS

from .conditions import Conditions
from .program import harness_sources, run_program

__all__ = ["LOADS", "MeshLoad", "build_mesh", "run_mesh"]

LOADS = ("uniform", "hot spot", *PATTERNS)
"""Patterns of traffic, by the number that the harness has for them.

The first two are random: of "hot spot" an eighth goes to one NPU beside uniform traffic. Others are
those of ``testbench.stimulus.meshes``, which go into the harness as a table.
"""


@dataclass(frozen=True, kw_only=True)
class MeshLoad(Conditions):
    """What the ends of a mesh send, and how it runs; links are those between routers, too.

    Parameters
    ----------
    load : float
        Data flits that an end makes per cycle, in the mean, at random times.
    pattern : str
        One of ``LOADS``.
    flits : int
        Flits of a packet.
    circuits : int
        Circuits that pairs of ends are spread over, 1 to 3.
    timeout_cycles : int
        Without an ack for so long an end sends again; by default longer than any packet waits in a
        mesh that is full.
    warm, measure : int
        Cycles before the measurement, and of it.
    """

    load: float
    pattern: str = "uniform"
    flits: int = 8
    circuits: int = 1
    timeout_cycles: int = 65535
    warm: int = 2000
    measure: int = 6000
    delay: int = 0
    idle_limit: int = 5000  # less than routers wait with a packet that is stuck

    def options(self) -> dict[str, float]:
        return super().options() | {"pattern": LOADS.index(self.pattern)}


def build_mesh(mesh: MeshSpec, emitter: VerilogEmitter | None = None) -> Path:
    """Return the program of a mesh, whose routers all have five ports.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    emitter : VerilogEmitter, optional
        One that puts broken units into the routers.

    Raises
    ------
    ValueError
        Flits have not 32 bits, or routers lack ports.
    SimulatorError
        Verilator is not installed or could not build.
    """
    if mesh.link.data_width != 32 or not mesh.controllers:
        raise ValueError("mesh must have flits of 32 bits, and controllers, for the harness")
    router = MeshRouter(mesh=mesh, directions=DIRECTIONS)
    ends = [[to(mesh, source) for source in range(mesh.routers)] for to in PATTERNS.values()]
    rows = ", ".join(
        f"{{{', '.join(str(source if end is None else end) for source, end in enumerate(row))}}}"
        for row in ends
    )
    lines = [
        f"constexpr unsigned WIDTH = {mesh.width}, HEIGHT = {mesh.height};",
        f"constexpr unsigned POSITION_X_BITS = {max(1, (mesh.width - 1).bit_length())};",
        f"#define EACH_PORT(DO) {' '.join(f'DO({k})' for k in range(len(DIRECTIONS)))}",
        "// Where each end sends to in a fixed pattern; to itself if it sends nothing.",
        f"constexpr unsigned FIXED[][{mesh.routers}] = {{{rows}}};",
        "// Directions from an end's router to another: that which addresses name, and the other.",
        f"constexpr unsigned CHOICES[][{mesh.routers}][2] = {{{_choices(mesh)}}};",
    ]
    sources = harness_sources("mesh.cpp", router.unit_name, mesh.link, lines)
    return build_harness(router, sources, emitter)


def _choices(mesh: MeshSpec) -> str:
    """Return of each pair of ends the directions of both ways at the first router, as C++."""
    ends = range(mesh.routers)

    def first(source: int, end: int, turned: bool) -> int:
        return DIRECTIONS.index(way(mesh, source, end, turned=turned)[1][2]) % 4

    rows = (", ".join(f"{{{first(a, b, False)}, {first(a, b, True)}}}" for b in ends) for a in ends)
    return ", ".join(f"{{{row}}}" for row in rows)


def run_mesh(program: Path, load: MeshLoad) -> dict[str, Any]:
    """Run a mesh; return the offered and accepted load per endpoint, latencies, and errors.

    Endpoints stop creating packets after the measurement, and all packets in flight must arrive.
    The mesh is ``wedged`` if packets wait and no endpoint receives anything for ``idle_limit``
    cycles. A router drops a stuck packet, which is an error, but only after
    ``head_of_line_timeout_cycles``.

    Parameters
    ----------
    program : Path
        What ``build_mesh`` returned.
    load : MeshLoad
        Traffic of the endpoints, and faults of links and routers.

    Raises
    ------
    RuntimeError
        It could not start.
    subprocess.TimeoutExpired
        It hangs.
    """
    found = run_program(program, load.options(), load.plusargs)
    wrong = found["wrong"] or found["errors"] or found["wedged"]
    # Only what a link has damaged is dropped.
    return {**found, "right": not (wrong or (found["dropped"] and not load.faults_per_million))}
