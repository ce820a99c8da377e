"""Hot spot of the mesh, line rates, bisections, areas."""

from collections.abc import Iterator

from perfmodel import published
from perfmodel.collectives.run import profile
from perfmodel.constants import IO_BYTES_PER_S
from perfmodel.published import (
    BISECTION,
    CHIPLET_AREA_MM2,
    CHIPLET_PORT,
    IO_AREA_MM2,
    IO_GB_PER_S_PER_MM,
    LINE_RATE,
    NPU_AREA_MM2,
    PAPER,
    SWITCH_POWER_W,
    WAFER_POWER_W,
    Published,
)
from perfmodel.studies.section import GIB, SECTIONS, ReproduceRow, number
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import BASELINE, FABRICS, parse_topology

__all__ = ["wafer"]

_EXACT, _ROUNDED = 0.0005, 0.01  # of areas in whole mm2, and of shares in a few digits


def wafer(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """Hot spot of the mesh, bisections, areas."""
    for n in range(2, 9):
        mesh = parse_topology(f"mesh:{n}x{n}", protocol)
        yield number(
            f"hot-spot/{n}x{n}",
            f"load of the worst link of a {n} x {n} mesh, one channel = 1",
            Published(2 * n - 1, f"{PAPER}: (2N - 1) times the rate of one channel"),
            _worst_load(mesh),
            "simulated",
        )
    mesh = parse_topology(BASELINE, protocol)
    yield number(
        "hot-spot/5x4",
        "rate that the worst link of the 5 x 4 mesh would have to carry [GB/s]",
        published.WORST_LINK,
        _worst_load(mesh) * IO_BYTES_PER_S / 1e9,
        "simulated",
    )
    for name, figure in LINE_RATE.items():
        fabric = parse_topology(name, protocol)
        streamed = profile(fabric, "stream_in", GIB, [range(fabric.npus)])[0]
        line_s = GIB / (fabric.io_controllers * IO_BYTES_PER_S)
        yield number(
            f"line-rate/{name}",
            f"share of their line rate at which all I/O controllers broadcast on {name}",
            figure,
            line_s / streamed.time_s,
            "simulated",
        )
    for name in FABRICS:
        yield number(
            f"bisection/{name}",
            f"bisection bandwidth of {name} [TB/s]",
            BISECTION[name],
            parse_topology(name, protocol).bisection_bytes_per_s() / 1e12,
            "derived: least cut of the graph",
            unit=1e12,
        )
    yield from _areas(protocol)


def _worst_load(fabric: Topology) -> float:
    """Return the load of the worst link between NPUs in a broadcast, in channels."""
    streamed = profile(fabric, "stream_in", GIB, [range(fabric.npus)])[0]
    channel = GIB / fabric.io_controllers
    inner = [
        carried
        for link, carried in streamed.loads
        if fabric.links[link].source not in fabric.io_nodes
    ]
    return max(inner) / channel


def _areas(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    fabric = parse_topology("fred-d", protocol)
    area, decomposed = _switch_area_mm2(fabric)
    yield number(
        "area/switches",
        f"area of all switch chiplets, {decomposed} [mm2]",
        published.SWITCH_AREA,
        area,
        "derived: chiplets from link rates over 600 GB/s ports, published area of each",
        _EXACT,
    )
    yield number(
        "area/compute",
        "area of NPUs and I/O controllers [mm2]",
        published.COMPUTE_AREA,
        fabric.npus * NPU_AREA_MM2 + fabric.io_controllers * IO_AREA_MM2,
        f"derived: {NPU_AREA_MM2} mm2 and {IO_AREA_MM2} mm2 each",
        _EXACT,
    )
    usual, dense = IO_GB_PER_S_PER_MM
    yield number(
        "area/dense-io",
        f"area of the switches at {dense} GB/s/mm, at {usual} GB/s/mm = 100 [%]",
        published.DENSE_IO_AREA,
        100 * (usual / dense) ** 2,
        "derived: the perimeter sets both sides of a chiplet",
        _ROUNDED,
    )
    yield number(
        "power/share",
        "power of the switches, of 15 kW [%]",
        published.SWITCH_POWER,
        100 * SWITCH_POWER_W / WAFER_POWER_W,
        f"derived from {SWITCH_POWER_W} W",
        _ROUNDED,
    )


def _switch_area_mm2(fabric: Topology) -> tuple[float, str]:
    """Return the area of all chiplets and their number by ports, from the links of the fabric."""
    area, counts = 0.0, dict.fromkeys(CHIPLET_AREA_MM2, 0)
    for place, node in enumerate(fabric.nodes):
        if node.kind != "switch":
            continue
        rates: dict[str, list[float]] = {"npu": [], "io": [], "switch": []}
        for link in fabric.links:
            if link.source == place:
                rates[fabric.nodes[link.target].kind].append(link.bytes_per_s / CHIPLET_PORT)
        if rates["npu"]:
            # As many chiplets as an NPU has ports; each has a port of every I/O controller.
            chips = round(rates["npu"][0])
            ends = len(rates["npu"]) + len(rates["io"])
            ports = ends + sum(round(rate / chips) for rate in rates["switch"])
        else:
            ports = 2 * len(rates["switch"])  # two of every L1, so that each reaches all of them
            chips = round(sum(rates["switch"]) / ports)
        counts[ports] += chips
        area += chips * CHIPLET_AREA_MM2[ports]
    text = ", ".join(f"{count} of {ports} ports" for ports, count in counts.items())
    return area, text


SECTIONS.add("wafer", wafer, rank=1)
