"""Wire budgets of a wafer of 20 NPUs: FRED trees, mesh-switch hybrids and the mesh.

Every fabric has the wires of FRED-D, that is the same sum of the rates of its links, and switch
chiplets of the same area at most. A wire takes edge of a chiplet at both ends, so the same wires
are also the same total edge, or perimeter. LIBRA splits the wires between the links of NPUs and
those between switches, and the split is then simulated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fred_hw.published import PORT_BYTES_PER_S
from perfmodel.libra.constraint import Constraint
from perfmodel.libra.optimise import optimise
from perfmodel.libra.problem import Problem
from perfmodel.libra.wafer import communication, wires
from perfmodel.libra.workload import Workload
from perfmodel.published import (
    CHIPLET_AREA_MM2,
    FRED_VARIANTS,
    IO_BYTES_PER_S,
    NPU_L1_BYTES_PER_S,
)
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.files import build_topology
from perfmodel.topology.graph import Topology
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.workloads.workload import load_workload

__all__ = [
    "FABRICS",
    "FRED",
    "FRED_D_RATES",
    "HYBRIDS",
    "MESH",
    "WIRES_BYTES_PER_S",
    "Fabric",
    "Split",
    "best_of",
    "best_split",
    "given_split",
]

NPUS, IO_CONTROLLERS = 20, 18
FRED_D_RATES = NPU_L1_BYTES_PER_S, FRED_VARIANTS["fred-d"][0]
"""Link rates of FRED-D, which has 5 L1 switches."""

WIRES_BYTES_PER_S = NPUS * FRED_D_RATES[0] + 5 * FRED_D_RATES[1]
"""Total rate of all links of FRED-D except I/O links, one direction [B/s]."""

_CUTS = 40
"""Largest number of tangents that bound the area."""

Rates = tuple[float, float]
"""Rate of an NPU's link, and of a link between switches or, on a mesh, between NPUs [B/s]."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """A kind of fabric without link rates.

    Parameters
    ----------
    name : str
        Name for people to read.
    file : callable
        Returns what the file of such a topology says, given the rates.
    switches : tuple of (int, float, float)
        Kinds of switches: how many, links of NPUs and I/O controllers on each, and links to other
        switches. None for the top switch of a tree, which has links to other switches alone.
    """

    name: str
    file: Callable[[Rates], Mapping[str, Any]]
    switches: tuple[tuple[int, float, float], ...]

    def topology(self, rates: Rates, protocol: ProtocolModel) -> Topology:
        """Return the topology with given link rates."""
        return build_topology({**self.file(rates), "protocol": protocol}, self.name)

    def area_mm2(self, rates: Rates) -> float:
        """Return the area of all switch chiplets [mm2].

        As in FRED, a switch is as many chiplets as an NPU's link has ports, and each has a port for
        every NPU and I/O controller and its part of the links to other switches. The edge sets the
        area of a chiplet: it grows with the square of the ports from the published area of 12.
        The top switch is made of chiplets with two ports for each switch below, from that of 10.
        """
        end, inner = rates
        found = 0.0
        for count, ends, links in self.switches:
            if ends:
                chiplets, ports = end / PORT_BYTES_PER_S, ends + links * inner / end
                found += count * chiplets * CHIPLET_AREA_MM2[12] * (ports / 12) ** 2
            else:
                chiplets, ports = inner / PORT_BYTES_PER_S / 2, 2 * links
                found += count * chiplets * CHIPLET_AREA_MM2[10] * (ports / 10) ** 2
        return found

    def area_slopes(self, rates: Rates) -> Rates:
        """Return the derivative of the area by each rate [mm2 per B/s]; the area is convex."""
        end, inner = rates
        by_end = by_inner = 0.0
        for count, ends, links in self.switches:
            if ends:
                scale = count * CHIPLET_AREA_MM2[12] / 144 / PORT_BYTES_PER_S
                x = links * inner / end
                by_end += scale * (ends + x) * (ends - x)
                by_inner += scale * 2 * links * (ends + x)
            else:
                by_inner += count * CHIPLET_AREA_MM2[10] / 100 * 2 * links**2 / PORT_BYTES_PER_S
        return by_end, by_inner


def _fred(l1s: int) -> Fabric:
    npus, each = NPUS // l1s, IO_CONTROLLERS / l1s
    counts = [IO_CONTROLLERS * (i + 1) // l1s - IO_CONTROLLERS * i // l1s for i in range(l1s)]

    def file(rates: Rates) -> Mapping[str, Any]:
        entry = {"npus": npus, "record": "l1-12"}
        return {
            "kind": "fred",
            "l1": [{**entry, "io_controllers": one} for one in counts],
            "l2_record": "l2-10",
            "npu_l1_bytes_per_s": rates[0],
            "l1_l2_bytes_per_s": rates[1],
            "in_network": True,
            "interpolate": True,
        }

    return Fabric(f"FRED of {l1s} L1s", file, ((l1s, npus + each, 1), (1, 0, l1s)))


def _hybrid(columns: int, rows: int) -> Fabric:
    groups = columns * rows
    links = 2 * (columns * (rows - 1) + rows * (columns - 1)) / groups

    def file(rates: Rates) -> Mapping[str, Any]:
        return {
            "kind": "mesh_switch",
            "columns": columns,
            "rows": rows,
            "npus": NPUS // groups,
            "io_controllers": IO_CONTROLLERS,
            "in_network": True,
            "npu_bytes_per_s": rates[0],
            "mesh_bytes_per_s": rates[1],
        }

    ends = (NPUS + IO_CONTROLLERS) / groups
    return Fabric(f"hybrid of {columns} x {rows} groups", file, ((groups, ends, links),))


def _mesh(rates: Rates) -> Mapping[str, Any]:
    return {"kind": "mesh", "columns": 5, "rows": 4, "link_bytes_per_s": rates[1]}


FRED = {l1s: _fred(l1s) for l1s in (2, 4, 5, 10)}
"""FRED trees, by number of L1 switches."""

HYBRIDS = {
    f"{columns}x{rows}": _hybrid(columns, rows) for columns, rows in ((2, 2), (5, 1), (5, 2))
}
"""Mesh-switch hybrids, by number of groups per row and per column."""

MESH = Fabric("mesh of 5 x 4", _mesh, ())

FABRICS = (*FRED.values(), *HYBRIDS.values(), MESH)
"""All fabrics that are compared."""


@dataclass(frozen=True, slots=True)
class Split:
    """A fabric with its link rates, optimized for a workload or given.

    Parameters
    ----------
    fabric : Fabric
        Whose wires.
    workload : str
        See ``load_workload``.
    protocol : str
        One of ``PROTOCOL_MODELS``.
    rates : tuple of float
        Of an NPU's link, and of a link between switches or NPUs [B/s].
    wires_bytes_per_s : float
        Sum of the rates of all links, one direction [B/s].
    computed_s : float
        All communication of an iteration as LIBRA computes it, one after the other, but for the
        time that I/O controllers take in any case [s].
    """

    fabric: Fabric
    workload: str
    protocol: ProtocolModel
    rates: Rates
    wires_bytes_per_s: float
    computed_s: float

    @property
    def area_mm2(self) -> float:
        """Area of all switch chiplets [mm2]."""
        return self.fabric.area_mm2(self.rates)

    @property
    def words(self) -> str:
        """The fabric and its link rates as text."""
        end, inner = (f"{rate / 1e12:.3g}" for rate in self.rates)
        total = f"{self.wires_bytes_per_s / 1e12:.4g} TB/s of wires, {self.area_mm2:,.0f} mm2"
        if self.fabric is MESH:
            return f"{self.fabric.name}: links of {inner} TB/s, {total}"
        return f"{self.fabric.name}: NPU {end} TB/s, between switches {inner} TB/s, {total}"

    def exposed_s(self) -> float:
        """Simulate an iteration; return its communication on the critical path [s]."""
        return _exposed_s(self)


@cache
def _exposed_s(split: Split) -> float:
    topology = split.fabric.topology(split.rates, split.protocol)
    found = estimate(Request.of(topology, load_workload(split.workload)))
    return found.iteration_time_s - found.critical_path_s["compute"]


def given_split(fabric: Fabric, workload: str, protocol: ProtocolModel, rates: Rates) -> Split:
    """Return a split with given rates."""
    return _split(fabric, workload, protocol, *_asked(fabric, workload, protocol), rates)


@cache
def best_split(
    fabric: Fabric,
    workload: str,
    protocol: ProtocolModel,
    most_npu_bytes_per_s: float | None = None,
) -> Split:
    """Return the split with the least communication for a workload, as LIBRA computes it.

    Parameters
    ----------
    fabric : Fabric
        One of ``FABRICS``.
    workload : str
        See ``load_workload``.
    protocol : str
        One of ``PROTOCOL_MODELS``.
    most_npu_bytes_per_s : float or None
        Most that an NPU's link may have [B/s].
    """
    sent, counts = _asked(fabric, workload, protocol)
    if not counts[0]:  # NPUs have no links of their own
        rates = (1.0, WIRES_BYTES_PER_S / counts[1])
        return _split(fabric, workload, protocol, sent, counts, rates)
    bounds = [
        Constraint("wires", (*map(float, counts[:2]), 0.0), False, WIRES_BYTES_PER_S),
        Constraint("I/O", (0.0, 0.0, 1.0), True, IO_BYTES_PER_S),
    ]
    if most_npu_bytes_per_s is not None:
        bounds.append(Constraint("NPU", (1.0, 0.0, 0.0), False, most_npu_bytes_per_s))
    end, inner = _best(fabric, sent, bounds, tuple(map(float, counts)))
    # To whole GB/s, so that the result is the same wherever the solver runs.
    rates = round(end, -9), round(inner, -9)
    return _split(fabric, workload, protocol, sent, counts, rates)


def best_of(
    fabrics: Iterable[Fabric],
    workload: str,
    protocol: ProtocolModel,
    most_npu_bytes_per_s: float | None = None,
) -> Split:
    """Return the best split of the fabric with the least communication; ties take fewest wires."""
    found = [best_split(one, workload, protocol, most_npu_bytes_per_s) for one in fabrics]
    least = min(one.computed_s for one in found) * (1 + 1e-4)
    alike = [one for one in found if one.computed_s <= least]
    return min(alike, key=lambda one: one.wires_bytes_per_s)


def _asked(
    fabric: Fabric, workload: str, protocol: ProtocolModel
) -> tuple[Workload, tuple[int, ...]]:
    """Return the communication of a workload on a fabric, and the number of links per class."""
    training, topology = load_workload(workload), fabric.topology(FRED_D_RATES, protocol)
    placed = default_placement(Request.of(topology, training))
    return communication(topology, training, placed), wires(topology)


def _split(
    fabric: Fabric,
    workload: str,
    protocol: ProtocolModel,
    sent: Workload,
    counts: Sequence[int],
    rates: Rates,
) -> Split:
    total = sum(a * b for a, b in zip(counts, rates, strict=False))
    # A stream takes at least as long as its controllers do, whatever the fabric.
    streams_s = sum(one[2] for one in sent.collectives) / IO_BYTES_PER_S
    computed_s = sent.time_s((*rates, IO_BYTES_PER_S)) - streams_s
    return Split(fabric, workload, protocol, rates, total, computed_s)


def _best(
    fabric: Fabric, sent: Workload, bounds: Sequence[Constraint], counts: tuple[float, ...]
) -> Rates:
    """Return the optimal rates under linear bounds and the area, which tangents approximate.

    Of splits that are as fast, it is the one with the fewest wires.
    """
    most = FRED[5].area_mm2(FRED_D_RATES)
    found = [*bounds]
    for _ in range(_CUTS):
        end, inner, _ = optimise(Problem((sent,), tuple(found), counts, 3)).bytes_per_s
        rates = (max(end, 1.0), max(inner, 1.0))
        if fabric.area_mm2(rates) <= most * (1 + 1e-6):
            return rates
        # The area is proportional to the rates, so its tangent goes through 0.
        found.append(Constraint("area", (*fabric.area_slopes(rates), 0.0), False, most))
    raise AssertionError("tangents must converge")
