"""Latency against load of 8 x 8 Verilated routers, to compare with published curves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from fred_hw.mesh.spec import MeshSpec
from testbench.designs import MeasuredDesign, routers_design
from testbench.measurement import Measurement, Say
from testbench.sim.tools import SimulatorError
from testbench.stimulus.meshes import PATTERNS
from testbench.volume.loaded_mesh import MeshLoad, build_mesh, run_mesh

__all__ = [
    "KNEE",
    "SHARES",
    "SaturationMeasurement",
    "SetUp",
    "capacity",
    "measured_row",
    "senders",
    "set_ups",
]

WIDTH, HEIGHT = 8, 8
LANES = 2  # makes flits of 32 bits, as the harness expects

SIZES = {5: 13, 10: 6, 8: 9}
"""Flits per packet, and packets buffered per virtual channel of a port: 65, 60 and 72 flits.

BookSim's packets of 5 and of 10 had 64 flits of a port. Packets of 8 are those of the default, on
both sides of which these two are.
"""

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
"""Loads of uniform traffic relative to the link limit, equal to those of the published runs."""

COARSE = (0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6)
"""Loads of other patterns and routings, up to the first with a latency above ``KNEE``."""

KNEE = 3.0
"""Latency relative to the lowest load at which a coarse curve ends."""

FIXED = ("transpose", "tornado", "complement")

WARM, MEASURE = 2000, 8000
"""Warm-up cycles, and measured cycles; all packets of the measurement are awaited."""


@dataclass(frozen=True, kw_only=True)
class SetUp:
    """The set-up of a curve.

    Parameters
    ----------
    pattern : str
        One of ``LOADS`` of ``testbench.volume.loaded_mesh``, except for the hot spot.
    routing : str
        Routing of the mesh.
    flits : int
        Length of a packet; ``SIZES`` has the buffer space of a virtual channel.
    shares : sequence of float
        Loads, ascending, as shares of ``capacity``.
    whole : bool
        Whether all loads are measured, also beyond ``KNEE``.
    """

    pattern: str
    routing: str
    flits: int
    shares: Sequence[float]
    whole: bool = True

    @property
    def mesh(self) -> MeshSpec:
        """The mesh; its links have no delay."""
        usual = MeshSpec(width=WIDTH, height=HEIGHT, lanes=LANES, routing=self.routing)
        space = {"packet_flits": self.flits, "buffer_packets": SIZES[self.flits]}
        return usual.with_changes(protocol=usual.protocol.with_changes(**space))

    def load(self, offered: float, seed: int) -> MeshLoad:
        """Return the offered load on one virtual channel [flits per sending endpoint and cycle]."""
        return MeshLoad(
            load=offered,
            pattern=self.pattern,
            flits=self.flits,
            seed=seed,
            warm=WARM,
            measure=MEASURE,
        )


def set_ups() -> tuple[SetUp, ...]:
    """Return all curves: uniform by packet size, then patterns and routings with packets of 5."""
    uniform = [SetUp(pattern="uniform", routing="xy", flits=k, shares=SHARES) for k in SIZES]
    others = [("odd_even", "uniform"), *product(("xy", "odd_even"), FIXED)]
    others += product(("odd_even_adaptive",), ("uniform", *FIXED))
    return (
        *uniform,
        *(
            SetUp(pattern=pattern, routing=routing, flits=5, shares=COARSE, whole=False)
            for routing, pattern in others
        ),
    )


def _flows(mesh: MeshSpec, pattern: str) -> list[tuple[int, int]]:
    """Return the sources and destinations of flits; a source sends equally to each."""
    ends = range(mesh.routers)
    if pattern == "uniform":
        return [(a, b) for a, b in product(ends, ends) if a != b]
    found = {source: PATTERNS[pattern](mesh, source) for source in ends}
    return [(a, b) for a, b in found.items() if b is not None]


def senders(mesh: MeshSpec, pattern: str) -> int:
    """Return the number of senders in a pattern; nodes on a transpose's diagonal do not send."""
    return len({source for source, _ in _flows(mesh, pattern)})


def capacity(mesh: MeshSpec, pattern: str) -> float:
    """Return the load at which X-Y routing fills the busiest link [flits per sender and cycle].

    Routes of a torus are its own, row first too.
    """
    flows = _flows(mesh, pattern)
    plain = mesh if mesh.wrap else mesh.with_changes(routing="xy")
    loads = plain.plan.loads(dict.fromkeys(flows, 1))
    return len(flows) / senders(mesh, pattern) / max(loads.values())


def measured_row(program: Path, one: SetUp, share: float, seed: int) -> dict[str, Any]:
    """Return the row of a load: share and flits offered, and the measurements.

    Flits accepted are per sending end and cycle, latency is from the making of a packet to its
    last flit. Messages are lost where too many wait in a router.

    Raises
    ------
    SimulatorError
        A flit was lost or wrong, a router found an error, or packets wait for each other.
    """
    mesh = one.mesh
    offered = share * capacity(mesh, one.pattern)
    found = run_mesh(program, one.load(offered, seed))
    # Acks and nacks are lost where eight wait, as docs/explanation/mesh.md says. The data would
    # then be sent again, which endpoints take for an error where links have no faults.
    if found["wrong"] or found["errors"] or found["wedged"]:
        raise SimulatorError(f"{one.pattern}, {one.routing}, {offered:.4f} offered: {found}")
    accepted = found["accepted"] * mesh.routers / senders(mesh, one.pattern)
    return {
        "share": round(share, 6),
        "offered": round(offered, 6),
        "accepted": round(accepted, 6),
        "latency_cycles": found["latency_cycles"],
        "packets": found["packets"],
        "lost_messages": found["dropped"],
    }


def _measured_curve(one: SetUp, seed: int, say: Say) -> dict[str, Any]:
    """Return the record entry of a curve."""
    mesh, most = one.mesh, capacity(one.mesh, one.pattern)
    program = build_mesh(mesh)

    def measured(share: float) -> dict[str, Any]:
        row = measured_row(program, one, share, seed)
        say(
            f"{one.pattern}, {one.routing}, packets of {one.flits}, {row['offered']:.4f} offered: "
            f"{row['accepted']:.4f} accepted, {row['latency_cycles']:.1f} cycles"
        )
        return row

    rows: list[dict[str, Any]] = []
    for share in one.shares:
        rows.append(measured(share))
        if not one.whole and rows[-1]["latency_cycles"] > KNEE * rows[0]["latency_cycles"]:
            break
    return {
        "pattern": one.pattern,
        "routing": one.routing,
        "packet_flits": one.flits,
        "buffer_flits": mesh.protocol.buffer_flits,
        "capacity": round(most, 6),
        "rows": rows,
        "full": measured(1 / most),
    }


@dataclass(frozen=True, kw_only=True)
class SaturationMeasurement(Measurement):
    """Latency against load for all ``set_ups``, and throughput at an offered load of 1."""

    SCHEMA = "fred-mesh-saturation/1"

    simulators: tuple[str, ...] = ("verilator",)

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": routers_design([one.mesh for one in set_ups()])}

    def head(self) -> dict[str, Any]:
        return {"name": f"mesh of {WIDTH} x {HEIGHT}"}

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        curves = [_measured_curve(one, self.seed, say) for one in set_ups()]
        return {
            "warm_cycles": WARM,
            "measured_cycles": MEASURE,
            "flits_checked": sum(
                row["packets"] * curve["packet_flits"]
                for curve in curves
                for row in (*curve["rows"], curve["full"])
            ),
            "curves": curves,
        }

    def other_inputs(self, record: Any) -> Iterator[str]:
        own = (self.seed, WARM, MEASURE)
        theirs = (record.seed, record.warm_cycles, record.measured_cycles)
        names = ("seed", "warm_cycles", "measured_cycles")
        yield from (n for n, a, b in zip(names, own, theirs, strict=True) if a != b)
        curves = {(o.pattern, o.routing, o.packet_flits, o.buffer_flits): o for o in record.curves}
        wanted = {
            (o.pattern, o.routing, o.flits, o.mesh.protocol.buffer_flits): o for o in set_ups()
        }
        for key in dict.fromkeys((*wanted, *curves)):
            one, curve = wanted.get(key), curves.get(key)
            if not one or not curve or not _has_loads(one, [row.share for row in curve.rows]):
                yield "curve: {}, {}, packets of {}, buffers of {} flits".format(*key)


def _has_loads(one: SetUp, shares: Sequence[float]) -> bool:
    """Return whether a curve has the requested loads, possibly only up to its end."""
    return shares == list(one.shares if one.whole else one.shares[: len(shares)])
