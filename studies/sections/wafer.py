"""Hot spot of the mesh, line rates, bisections and areas."""

from collections.abc import Iterator, Sequence

from perfmodel import published
from perfmodel.derived import CHIPLET_AREA
from perfmodel.network.run import profile
from perfmodel.published import (
    BISECTION,
    CHIPLET_AREA_MM2,
    DENSE_IO_AREA,
    IO_AREA_MM2,
    IO_BYTES_PER_S,
    IO_GB_PER_S_PER_MM,
    LINE_RATE,
    LOGIC_SHARE,
    NPU_AREA_MM2,
    NPU_L1_BYTES_PER_S,
    SQUARE_HOT_SPOT,
    SWITCH_POWER_W,
    WAFER_POWER_W,
)
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import BASELINE, FABRICS, shared_topology
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.wafer_cost.chiplets import ChipletKind, area_mm2, chiplet_kinds, published_wafer
from perfmodel.workloads.workload import load_workload
from studies.section import GIB, SECTIONS, ReproduceRow, Section, Setting, number, word

__all__ = ["wafer"]


def wafer(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield the hot spot of the mesh, line rates, bisections and areas."""
    yield from _hot_spots(setting)
    yield from _line_rates(setting)
    for name in FABRICS:
        yield number(
            f"bisection/{name}",
            f"bisection bandwidth of {name} [TB/s]",
            BISECTION[name],
            shared_topology(name, setting.protocol).bisection_bytes_per_s() / 1e12,
            "least cut of the graph, whose links are published",
            "consistency",
            unit=1e12,
            exact=True,
        )
    yield from _areas(setting)


def _hot_spots(setting: Setting) -> Iterator[ReproduceRow]:
    how = "simulated; the trees of the mesh are chosen by this formula"
    loads = {
        n: _worst_load(shared_topology(f"mesh:{n}x{n}", setting.protocol)) for n in range(2, 9)
    }
    wrong = [f"{load:.4g} at N = {n}" for n, load in loads.items() if abs(load - 2 * n + 1) > 1e-6]
    yield word(
        "hot-spot/square",
        "load of the worst link of an N x N mesh, N = 2 to 8, one channel = 1",
        SQUARE_HOT_SPOT,
        ", ".join(wrong) or SQUARE_HOT_SPOT.words,
        how,
        "consistency",
    )
    yield number(
        "hot-spot/5x4",
        "rate that the worst link of the 5 x 4 mesh would have to carry [GB/s]",
        published.WORST_LINK,
        _worst_load(shared_topology(BASELINE, setting.protocol)) * IO_BYTES_PER_S / 1e9,
        how,
        "consistency",
        exact=True,
    )


def _line_rates(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield the fraction of line rate at which I/O controllers stream weights."""
    for name, figure in LINE_RATE.items():
        fabric = shared_topology(name, setting.protocol)
        yield number(
            f"line-rate/{name}",
            f"share of their line rate at which I/O controllers send to all NPUs of {name}",
            figure,
            _line_rate(fabric, [range(fabric.npus)]),
            "simulated; follows from the hot spot" if fabric.grid else "simulated",
            "consistency" if fabric.grid else "link-rate",
        )
    job = load_workload("gpt-3")
    mesh = shared_topology(BASELINE, setting.protocol)
    placed = default_placement(Request.of(mesh, job))
    yield number(
        "line-rate/gpt-3",
        f"share of their line rate at which I/O controllers send weights of GPT-3 on {BASELINE}",
        LINE_RATE[BASELINE],
        _line_rate(mesh, placed.dp_groups(0)),
        f"simulated, to the {job.strategy.mp} groups of a stage of {job.strategy}",
    )


def _line_rate(fabric: Topology, groups: Sequence[Sequence[int]]) -> float:
    streamed = profile(fabric, "stream_in", GIB, groups)[0]
    line_s = len(groups) * GIB / (fabric.io_controllers * IO_BYTES_PER_S)
    return line_s / streamed.time_s


def _worst_load(fabric: Topology) -> float:
    """Return the load of the worst link between NPUs in a broadcast, in units of one channel."""
    streamed = profile(fabric, "stream_in", GIB, [range(fabric.npus)])[0]
    channel = GIB / fabric.io_controllers
    inner = [
        carried
        for link, carried in streamed.loads
        if fabric.links[link].source not in fabric.io_nodes
    ]
    return max(inner) / channel


def _areas(setting: Setting) -> Iterator[ReproduceRow]:
    fabric = shared_topology("fred-d", setting.protocol)
    kinds = chiplet_kinds(published_wafer())
    decomposed = ", ".join(f"{one.chiplets} of {one.ports} ports" for one in kinds)
    yield number(
        "area/switches",
        f"area of all switch chiplets, {decomposed} [mm2]",
        published.SWITCH_AREA,
        sum(one.chiplets * CHIPLET_AREA_MM2[one.ports] for one in kinds),
        "chiplets of examples/wafer-20.yaml, their areas chosen for this sum",
        "consistency",
        exact=True,
    )
    yield from _edges(kinds)
    yield number(
        "area/compute",
        "area of NPUs and I/O controllers [mm2]",
        published.COMPUTE_AREA,
        fabric.npus * NPU_AREA_MM2 + fabric.io_controllers * IO_AREA_MM2,
        f"{NPU_AREA_MM2} mm2 and {IO_AREA_MM2} mm2 each, the second chosen for this sum",
        "consistency",
        exact=True,
    )
    usual = IO_GB_PER_S_PER_MM[0]
    for density, figure in DENSE_IO_AREA.items():
        first = density == IO_GB_PER_S_PER_MM[1]
        yield number(
            f"area/dense-io-{density:g}",
            f"area of the switches at {density:g} GB/s/mm, at {usual} GB/s/mm = 100 [%]",
            figure,
            100 * (usual / density) ** 2,
            "the perimeter sets both sides of a chiplet"
            + (", a formula chosen by this figure" if first else "; the formula of 250 GB/s/mm"),
            "consistency" if first else "predicted",
            exact=True,
            readings={} if first else {"the logic, under 5 % today, is the least": 5.0},
        )
    yield number(
        "power/share",
        "power of the switches, of 15 kW [%]",
        published.SWITCH_POWER,
        100 * SWITCH_POWER_W / WAFER_POWER_W,
        f"from the published {SWITCH_POWER_W} W",
        "consistency",
        exact=True,
    )


def _edges(kinds: Sequence[ChipletKind]) -> Iterator[ReproduceRow]:
    """Yield the areas that the edge of a chiplet gives."""
    usual, wafer = IO_GB_PER_S_PER_MM[0], published_wafer()
    whole = chiplet_kinds(wafer, io_bytes_per_s=IO_BYTES_PER_S * wafer.planes)
    full = chiplet_kinds(wafer, io_bytes_per_s=NPU_L1_BYTES_PER_S)
    readings = {
        "each chiplet has the whole rate of an I/O controller": whole,
        "each port of an I/O controller has 600 GB/s": full,
    }
    found = area_mm2(kinds, usual)
    others = {words: area_mm2(one, usual) for words, one in readings.items()}
    others["logic takes 5 % beside the area of the edge"] = found / (1 - LOGIC_SHARE.value / 100)
    how = f"a square whose edge carries both directions of all links, at {usual} GB/s/mm"
    yield number(
        "area/edge",
        "area of all switch chiplets, from their links [mm2]",
        published.SWITCH_AREA,
        found,
        how,
        exact=True,
        reading="a chiplet has its share of an I/O controller's rate",
        readings=others,
    )
    for one in kinds:
        yield number(
            f"area/edge-{one.ports}",
            f"area of a switch chiplet of {one.ports} ports, from its links [mm2]",
            CHIPLET_AREA[one.ports],
            one.area_mm2(usual),
            how,
        )


_TITLE = "The wafer: bisection, areas, power, input and output"
_SUBJECTS: dict[str, str] = dict.fromkeys(
    ("hot-spot", "line-rate", "bisection", "area", "power"), _TITLE
)
SECTIONS.add("wafer", Section(wafer, _SUBJECTS), rank=1)
