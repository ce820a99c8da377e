"""Small fabrics for campaigns: three switches of three NPUs below a fourth, and meshes."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_hw.ace.steps import EndpointProgram
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.mesh.program import MeshProgram
from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.tree_program import TreeProgram
from fred_hw.protocol import ProtocolSpec
from fred_hw.wafer.flows import NoPathError
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import WaferProgram
from fred_hw.wafer.rounds import find_rounds
from fred_hw.wafer.spec import WaferSpec
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Sizes

from .generate import Group, random_plan
from .plan import Plan
from .trees import Schedule, circuits_of, random_trees

__all__ = [
    "DRAIN_CYCLES",
    "ENGINE",
    "FABRICS",
    "FLIT_BYTES",
    "SHORT",
    "UNIFORM",
    "WAFER",
    "Campaign",
    "MeshFabric",
    "TreesFabric",
    "WaferFabric",
    "campaign",
    "groups",
]

FLIT_BYTES = 2
"""Payload of a flit of all fabrics of campaigns [bytes]."""

DRAIN_CYCLES = 256 + 24
"""Cycles between reads of QUEUED at two switches, with the delay of a link."""

_SWITCHES, _NPUS = 3, 3
UNIFORM = Strategy.parse("MP3-DP3-PP1")
"""Strategy that names the programs, whose phases are random."""

_PHASES = 6

_LATEST = 4000
"""Cycles after which an endpoint starts its schedule at the latest."""


@dataclass(frozen=True)
class Campaign:
    """A plan for a fabric, what software writes before it, and the schedule that runs beside it."""

    plan: Plan
    program: EndpointProgram
    schedule: Schedule | None = None
    fabric: "WaferFabric | MeshFabric" = field(kw_only=True)


def _wafer() -> WaferSpec:
    """Return three switches with three NPUs and one uplink, from units that other tests share."""
    switches = [
        {"name": "l2", "chiplets": 1, "ports": 4, "spare": 1},
        *(
            {
                "name": f"l1_{n}",
                "above": "l2",
                "chiplets": 1,
                "ports": 4,
                "uplinks": 1,
                "npus": [_NPUS * n + k for k in range(_NPUS)],
            }
            for n in range(_SWITCHES)
        ),
    ]
    protocol = {"phases": 8, "packet_flits": 4, "buffer_packets": 6, "round_trip_cycles": 24}
    protocol |= {"ack_interval": 4, "window_packets": 32}
    endpoint = {"fsms": 1, "slots": 2, "chunk_flits": 16, "memory_reads": 16}
    return WaferSpec.model_validate(
        {
            "npus": _SWITCHES * _NPUS,
            "lanes": 1,
            "protocol": protocol,
            "endpoint": endpoint,
            "switches": switches,
        }
    )


def groups(phases: Sequence[Phase]) -> list[Group]:
    """Return all flows of the given phases."""
    return [
        Group(one.number, one.circuit, tuple(flow.inputs), tuple(flow.outputs))
        for one in phases
        for flow in one.flows
    ]


class WaferFabric:
    """A plane of switches, with random phases for each campaign.

    Parameters
    ----------
    name : str
        Name of the fabric.
    wafer : WaferSpec
        Three NPUs or more, two or more at each switch that has any; flits of two bytes.
    """

    def __init__(self, name: str, wafer: WaferSpec) -> None:
        self.name, self.wafer = name, wafer
        self.npus = wafer.npus

    @cached_property
    def plane(self) -> Plane:
        """Return the plane of the wafer."""
        return Plane(self.wafer)

    @property
    def drop_cycles(self) -> int:
        """Most cycles until a switch has dropped the packets of a phase that was erased."""
        return max(one.spec.drop_cycles for one in self.plane.units)

    @cached_property
    def model(self) -> Path:
        """Return the compiled fabric."""
        return build_compiled(self.wafer, Sizes())

    def campaign(self, seed: int) -> Campaign:
        """Return a random plan and its phases."""
        rng = random.Random(f"phases {seed}")
        joined = rng.choice(("", "", *self.wafer.protocol.channels.names))
        phases = self.phases(rng, joined)
        slot = self.wafer.endpoint.chunk_flits
        plan = random_plan(self.name, self.npus, slot, groups(phases), joined, seed)
        return Campaign(
            plan, WaferProgram(self.plane, UNIFORM, tuple(phases), FLIT_BYTES), fabric=self
        )

    def phases(self, rng: random.Random, joined: str) -> list[Phase]:
        """Return random phases; those of reductions between switches use one virtual channel."""
        members = tuple(sorted(rng.sample(range(self.npus), rng.randint(2, self.npus))))
        phases: list[Phase] = []
        names = self.wafer.protocol.channels.names
        for _ in range(rng.randint(0, _PHASES)):
            if joined and rng.random() < 0.4:
                found = self.phase(len(phases), joined, self.joined(rng, members))
            else:
                circuit = rng.choice([one for one in names if one != joined])
                found = self.phase(len(phases), circuit, self.flows(rng))
            phases += found
        return phases

    def phase(self, number: int, circuit: str, flows: Sequence[Flow]) -> list[Phase]:
        """Return a phase of the given flows if they can all be routed, else None."""
        try:
            rounds = find_rounds(self.plane, flows, {})
        except NoPathError:
            return []
        if len(rounds.rounds) != 1:
            return []
        return [Phase(f"{circuit}_any", circuit, number, tuple(flows), rounds)]

    def joined(self, rng: random.Random, members: Sequence[int]) -> list[Flow]:
        """Return a reduction of members on any switches, delivered to members or to others."""
        others = rng.sample(range(self.npus), rng.randint(1, self.npus))
        return [Flow(members, sorted(rng.choice((members, others))))]

    def flows(self, rng: random.Random) -> list[Flow]:
        """Return reductions inside switches, or multicasts."""
        return self._local(rng) if rng.random() < 0.5 else self._copies(rng)

    def _local(self, rng: random.Random) -> list[Flow]:
        """Return reductions inside switches."""
        flows: list[Flow] = []
        switches = [one.npus for one in self.wafer.switches if one.npus]
        for own in rng.sample(switches, rng.randint(1, len(switches))):
            sources = sorted(rng.sample(own, rng.randint(2, len(own))))
            outputs = rng.choice((sources, sorted(rng.sample(own, rng.randint(1, len(own))))))
            flows.append(Flow(sources, outputs))
        return flows

    def _copies(self, rng: random.Random) -> list[Flow]:
        """Return a multicast, or two with different sources and destinations."""
        order = rng.sample(range(self.npus), self.npus)
        end = 2 + rng.randint(1, max(1, (self.npus - 1) // 2))
        flows, others = [Flow([order[0]], sorted(order[2:end]))], sorted(order[-2:])
        return flows + [Flow([order[1]], others)] * (rng.randint(0, 1) * (end <= self.npus - 2))


ENGINE = EndpointSpec(fsms=2, slots=4, chunk_flits=16, memory_reads=16)
"""A small collective endpoint."""
_WITH_TABLES = ENGINE.model_copy(update={"schedule_entries": 64})


class MeshFabric:
    """A mesh with an endpoint at each router.

    Parameters
    ----------
    name : str
        Name of the fabric.
    mesh : MeshSpec
        The mesh; flits of two bytes.
    """

    def __init__(self, name: str, mesh: MeshSpec) -> None:
        self.name, self.mesh = name, mesh

    @cached_property
    def model(self) -> Path:
        """Return the compiled fabric."""
        return build_compiled(self.mesh, Sizes())

    def campaign(self, seed: int) -> Campaign:
        """Return a random plan of unicasts and rings."""
        slot = self.mesh.endpoint.chunk_flits
        plan = random_plan(self.name, self.mesh.routers, slot, (), "", seed)
        program = MeshProgram(self.mesh, Strategy.parse("MP1-DP1-PP1"), "auto", (), FLIT_BYTES)
        return Campaign(plan, program, fabric=self)


class TreesFabric(MeshFabric):
    """A mesh whose endpoints run schedule tables, before or after the jobs of a random plan."""

    def campaign(self, seed: int) -> Campaign:
        """Return random trees, and a random plan of unicasts and rings."""
        rng, npus = random.Random(f"trees {seed}"), self.mesh.routers
        block = rng.choice((1, 5, rng.randint(1, 60)))
        schedule = Schedule(
            program=TreeProgram(
                mesh=self.mesh,
                edges=tuple(random_trees(rng, npus, self.pairs(rng))),
                size=npus * block * FLIT_BYTES,
                step_cycles=rng.choice((0, 0, rng.randint(1, 100), block + 150)),
            ),
            waits=tuple(rng.choice((0, 0, rng.randrange(_LATEST))) for _ in range(npus)),
            runs=rng.choice((1, 1, 2)),
            first=rng.random() < 0.5,
        )
        slot, pairs = self.mesh.endpoint.chunk_flits, circuits_of(schedule.program)
        plan = random_plan(self.name, npus, slot, (), "", seed, pairs)
        return Campaign(plan.behind(npus * block), schedule.program, schedule, fabric=self)

    def pairs(self, rng: random.Random) -> list[tuple[int, int]]:
        """Return the pairs that trees may use: neighbours, or all."""
        every, width = range(self.mesh.routers), self.mesh.width
        near = rng.random() < 0.5
        return [
            (a, b)
            for a in every
            for b in every
            if a != b
            and (not near or abs(a % width - b % width) + abs(a // width - b // width) == 1)
        ]


SHORT = ProtocolSpec(
    packet_flits=4,
    buffer_packets=6,
    round_trip_cycles=24,
    ack_interval=4,
    window_packets=32,
    timeout_cycles=300,
    nack_timeout_cycles=16,
    packet_timeout_cycles=64,
)
"""Small packets, and waits that soon end."""


def _mesh(width: int, height: int, endpoint: EndpointSpec = ENGINE, **more: Any) -> MeshSpec:
    return MeshSpec(width=width, height=height, lanes=1, protocol=SHORT, endpoint=endpoint, **more)


_ROW = _mesh(6, 1, _WITH_TABLES, controllers=False)
WAFER = WaferFabric("wafer", _wafer())
FABRICS: dict[str, WaferFabric | MeshFabric] = {
    one.name: one
    for one in (
        WAFER,
        MeshFabric("row", _ROW),
        MeshFabric("mesh", _mesh(3, 2)),
        MeshFabric("adaptive", _mesh(3, 2, routing="odd_even_adaptive")),
        TreesFabric("trees", _ROW),
    )
}
"""Fabrics by their names. Routers of the row have two or three ports, all others five.

"trees" has the hardware of the row, whose endpoints have a schedule table.
"""


def campaign(fabric: str, seed: int) -> Campaign:
    """Return the campaign with a seed."""
    return FABRICS[fabric].campaign(seed)
