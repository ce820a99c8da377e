"""Hardware comparison of FRED and mesh: area, clock, latency and work of an all-reduce."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .hardware_work import mesh_paths, mesh_work, plane_paths, plane_work

if TYPE_CHECKING:
    from fred_hw.mesh.spec import MeshSpec
    from fred_hw.wafer.spec import WaferSpec
    from perfmodel.switch_timing.areas import AreaRecord
    from perfmodel.switch_timing.router import RouterTiming

__all__ = ["VECTOR_FLITS", "HardwareRow", "Price", "hardware_rows", "price"]

VECTOR_FLITS = 20_480
"""Vector of each NPU in the all-reduce whose work is counted [flits]: 10 MiB, whole blocks on both
fabrics."""

_AREA, _TOTAL, _PER_LINK = "area", ", total", ", per link of an NPU"


@dataclass(frozen=True)
class HardwareRow:
    """A figure of both fabrics.

    Parameters
    ----------
    part, what, unit : str
        Its subject, its name, and its unit.
    fred, mesh : float
        Its values.
    source : str
        Its source.
    """

    part: str
    what: str
    unit: str
    fred: float
    mesh: float
    source: str


@dataclass(frozen=True)
class Price:
    """Logic area of FRED relative to the mesh.

    Parameters
    ----------
    per_npu, per_link : HardwareRow
        Switches or routers and endpoints together.
    library, lanes : str
        Library of cells, and the lanes that all units have.
    """

    per_npu: HardwareRow
    per_link: HardwareRow
    library: str
    lanes: str

    @staticmethod
    def ratio(row: HardwareRow) -> float:
        """Return the area of FRED relative to the mesh."""
        return row.fred / row.mesh


def price(rows: Iterable[HardwareRow]) -> Price:
    """Return the area cost of FRED, from the rows and the record behind them."""
    from fred_hw.files import load_model
    from perfmodel.switch_timing.areas import SHIPPED_AREAS, AreaRecord

    areas = load_model(AreaRecord, SHIPPED_AREAS)
    found = {row.what: row for row in rows if row.part == "area"}
    lanes = f"{areas.lanes} {areas.format.upper()} lane{'s' if areas.lanes > 1 else ''}"
    return Price(found[_AREA + _TOTAL], found[_AREA + _TOTAL + _PER_LINK], areas.library, lanes)


def hardware_rows() -> tuple[HardwareRow, ...]:
    """Return the hardware figures of the published wafers: twenty NPUs on switches or on a mesh."""
    from fred_hw.files import load_model
    from perfmodel.switch_timing.areas import SHIPPED_AREAS, AreaRecord
    from perfmodel.switch_timing.router import RouterTiming, load_link_record
    from studies.rtl_plane import load_plane_cycles

    wafer = load_plane_cycles().spec
    areas, router = load_model(AreaRecord, SHIPPED_AREAS), load_link_record("mesh-5x4")
    assert isinstance(router, RouterTiming)
    mesh = router.record.spec
    return (
        *_area(wafer, areas),
        *_clock(wafer, areas, router),
        *_latency(wafer, mesh, router),
        *_work(wafer, mesh),
        *_all_reduces(router),
        _iteration(),
    )


def _area(wafer: "WaferSpec", areas: "AreaRecord") -> Iterator[HardwareRow]:
    """Yield areas: all chiplets of all planes, or a router and an endpoint per NPU."""
    from fred_hw.wafer.plane import Plane

    ports = Counter(one.spec.ports for one in Plane(wafer).units)
    names = {port: areas.switch(port).unit for port in ports}
    share = wafer.planes / wafer.npus
    source = f"synthesis, {areas.library}, {areas.format} x {areas.lanes}, no memories, no wires"
    if more := sorted(port for port, name in names.items() if f"of {port} " not in name):
        source += f"; {more[0]} ports as {names[more[0]].split()[2]}"

    def switches(of: Callable[[str], float]) -> float:
        return share * sum(n * of(names[port]) for port, n in ports.items())

    def both(what: str, unit: str, of: Callable[[str], float]) -> Iterator[HardwareRow]:
        units = switches(of), of("router")
        ends = wafer.planes * of("endpoint"), of("endpoint")
        fred, mesh = (one + other for one, other in zip(units, ends, strict=True))
        yield HardwareRow("area", f"{what} of switches or routers", unit, *units, source)
        yield HardwareRow("area", f"{what} of endpoints", unit, *ends, source)
        yield HardwareRow("area", f"{what}{_TOTAL}", unit, fred, mesh, source)
        link = fred / wafer.planes
        yield HardwareRow("area", f"{what}{_TOTAL}{_PER_LINK}", unit, link, mesh, source)

    yield from both(_AREA, "µm² per NPU", lambda name: areas.unit(name).area_um2)
    for what, key in (("flip-flops", "flip_flops"), ("memory", "memory_bits")):
        *_, whole, _ = both(what, "per NPU", lambda name, key=key: getattr(areas.unit(name), key))
        unit = "bits per NPU" if what == "memory" else "per NPU"
        yield HardwareRow("area", whole.what, unit, whole.fred, whole.mesh, source)


def _clock(
    wafer: "WaferSpec", areas: "AreaRecord", router: "RouterTiming"
) -> Iterator[HardwareRow]:
    """Yield clocks, and the rates that follow from them."""
    from perfmodel.switch_timing.record import SHIPPED, load_record

    timings = [load_record(name) for name in SHIPPED]
    hz, mesh_hz = timings[0].record.clock.hz, router.record.clock.hz
    flit = wafer.link.data_width / 8
    wanted = {areas.switch(one.record.spec.ports).unit for one in timings}
    found = {one.unit: one.clock_ns for one in areas.units}
    slowest = max(found[name] for name in (*wanted, "endpoint"))
    source = f"synthesis, {areas.library}, {areas.format} x {areas.lanes}, no wires"
    rate = hz / 1e9, mesh_hz / 1e9
    yield HardwareRow("clock", "clock rate of the timing records", "GHz", *rate, "published rates")
    yield HardwareRow(
        "clock",
        "shortest clock of the slowest unit",
        "ns",
        slowest,
        max(found["router"], found["endpoint"]),
        source,
    )
    ends = wafer.planes * flit * hz / 1e9, flit * mesh_hz / 1e9
    yield HardwareRow(
        "rate", "bandwidth of an NPU's links, in each direction", "GB/s", *ends, "files and clocks"
    )
    least = min(one.switch.data_flits_per_cycle for one in timings if one.switch)
    full = router.record.router.data_flits_per_cycle
    yield HardwareRow(
        "rate", "data flits of a busy link", "per cycle", least, full, "co-simulation"
    )


def _latency(wafer: "WaferSpec", mesh: "MeshSpec", router: "RouterTiming") -> Iterator[HardwareRow]:
    """Yield latencies of a flit: through one switch or router, and from NPU to NPU.

    Latencies from NPU to NPU do not include the endpoints.
    """
    from perfmodel.published import LINK_LATENCY_S
    from perfmodel.switch_timing.record import SHIPPED, load_record

    unit_s = max(load_record(name).latency_s for name in SHIPPED)
    paths, others = plane_paths(wafer), mesh_paths(mesh)
    lone, far = (
        "lone flit, co-simulation",
        f"routes of the compilers, links of {LINK_LATENCY_S * 1e9:g} ns",
    )
    yield HardwareRow(
        "latency", "latency of a switch or router", "ns", unit_s * 1e9, router.latency_s * 1e9, lone
    )
    yield HardwareRow(
        "latency",
        "switches or routers on a route, mean",
        "",
        paths.mean_units,
        others.mean_units,
        far,
    )
    yield HardwareRow(
        "latency",
        "switches or routers on a route, most",
        "",
        paths.most_units,
        others.most_units,
        far,
    )
    for what, units, links in (
        ("mean", "mean_units", "mean_links"),
        ("most", "most_units", "most_links"),
    ):
        fred, mesh_ns = (
            1e9 * (getattr(one, units) * each_s + getattr(one, links) * LINK_LATENCY_S)
            for one, each_s in ((paths, unit_s), (others, router.latency_s))
        )
        yield HardwareRow("latency", f"latency from NPU to NPU, {what}", "ns", fred, mesh_ns, far)


def _all_reduces(router: "RouterTiming") -> Iterator[HardwareRow]:
    """Yield how long an all-reduce of all NPUs takes in RTL, by switches and by each algorithm."""
    from fred_hw.mesh.tree_program import TREE_ALGORITHM
    from perfmodel.switch_timing.record import SHIPPED, load_record
    from studies.rtl_mesh import (
        SHIPPED_MESH_CYCLES,
        SHIPPED_TREE_CYCLES,
        load_mesh_cycles,
    )
    from studies.rtl_plane import load_plane_cycles

    flits = 8192
    source = "records of phases on a plane and on the mesh, co-simulation"
    how = {
        "ring": ("one ring on the mesh", source),
        "hierarchical_2d_halves": ("rows and columns on the mesh", source),
        TREE_ALGORITHM: (
            "MultiTree's schedule tables on the mesh",
            f"{source}; endpoints of the mesh with two read ports and a schedule table",
        ),
    }
    hz, mesh_hz = load_record(SHIPPED[0]).record.clock.hz, router.record.clock.hz
    (plane,) = (
        row.cycles
        for row in load_plane_cycles().rows
        if (row.phase, row.flits, row.collectives) == ("mp_all_reduce", flits, "in-network")
        and row.strategy == "MP20-DP1-PP1"
    )
    for path in (SHIPPED_MESH_CYCLES, SHIPPED_TREE_CYCLES):
        for row in load_mesh_cycles(path).rows:
            if (row.strategy, row.phase, row.flits) == ("MP20-DP1-PP1", "mp_all_reduce", flits):
                words, from_ = how[row.algorithm]
                times = plane / hz * 1e6, row.cycles / mesh_hz * 1e6
                what = f"all-reduce of {flits:,} flits, {words}"
                yield HardwareRow("time", what, "µs", *times, from_)


def _iteration() -> HardwareRow:
    """Return the duration of a training iteration in RTL simulation on both fabrics."""
    from studies.rtl_iteration import SHIPPED_ITERATIONS, load_iteration

    fred, mesh = (load_iteration(name).time_s * 1e6 for name in SHIPPED_ITERATIONS)
    source = "records of examples/iteration.yaml, co-simulation"
    return HardwareRow("time", "small training iteration in RTL", "µs", fred, mesh, source)


def _work(wafer: "WaferSpec", mesh: "MeshSpec") -> Iterator[HardwareRow]:
    """Yield the work of the hardware in an all-reduce, which determines energy."""
    works = plane_work(wafer, VECTOR_FLITS), mesh_work(mesh, VECTOR_FLITS)
    source = "all-reduce of all NPUs, compiled; per NPU and byte of its vector"
    for what, key in (
        ("bytes over links", "crossed"),
        ("bytes added", "added"),
        ("bytes read from memory", "read"),
        ("bytes written to memory", "written"),
    ):
        on_fred, on_mesh = (getattr(one, key) / one.npus for one in works)
        yield HardwareRow("traffic", what, "B/B", on_fred, on_mesh, source)
