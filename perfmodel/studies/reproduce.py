"""Every published figure beside ours."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context

from fred_hw.compiler.placement import Strategy
from perfmodel.collectives.run import profile, run_collective, run_collectives
from perfmodel.constants import IO_BYTES_PER_S
from perfmodel.published import (
    BISECTION,
    CHIPLET_AREA_MM2,
    PAPER,
    SPEEDUP_C,
    SPEEDUP_D,
    STRATEGY_BANDWIDTH,
    SWEEPS,
    WAFER_BANDWIDTH,
)
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.fred import FredTopology
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.calibration import BASELINE, FABRIC
from perfmodel.training.estimate import estimate
from perfmodel.training.operations import NUMBER_BYTES
from perfmodel.training.placement import place
from perfmodel.workloads.workload import WORKLOADS, load_workload

from .strategies import StrategyRow, feasible, sweep

__all__ = ["SECTIONS", "MovedRow", "ReproduceRow", "reproduce", "reproduce_both", "swept"]

NETWORK, END_TO_END = 0.05, 0.05
_ABOUT = 0.1  # of figures published as "about"
_GIB = 2.0**30


@dataclass(frozen=True, slots=True)
class ReproduceRow:
    """One published figure.

    Parameters
    ----------
    id : str
        Section and name, such as ``bandwidth/wafer/fred-d``.
    what : str
        In words, with the unit.
    published, model : float or str
        The figure and ours.
    ratio : float or None
        Ours divided by the published one; None of words.
    tolerance : float or None
        Largest allowed distance of the ratio from 1; None of words, which must be the same.
    ok : bool
        Whether ours is within the tolerance.
    how : str
        How ours was obtained: simulated, derived, or calibrated and predicted.
    source : str
        Where the published figure stands.
    """

    id: str
    what: str
    published: float | str
    model: float | str
    ratio: float | None
    tolerance: float | None
    ok: bool
    how: str
    source: str


@dataclass(frozen=True, slots=True)
class MovedRow(ReproduceRow):
    """One published figure, ours with the protocol as measured, and what the protocol did to ours.

    Parameters
    ----------
    ideal : float or str
        Ours with the ideal protocol.
    moved_percent : float or None
        How far the protocol moved ours from there [%]; None of words.
    """

    ideal: float | str
    moved_percent: float | None


def _number(
    name: str,
    what: str,
    published: float,
    model: float,
    how: str,
    source: str,
    tolerance: float = NETWORK,
) -> ReproduceRow:
    ratio = model / published
    # Half a unit of the last digit of a rounded ratio does not decide.
    ok = abs(ratio - 1) <= tolerance + 1e-9
    return ReproduceRow(name, what, published, model, ratio, tolerance, ok, how, source)


def _word(name: str, what: str, published: str, model: str, how: str, source: str) -> ReproduceRow:
    return ReproduceRow(name, what, published, model, None, None, published == model, how, source)


def reproduce(
    sections: Sequence[str] | None = None, protocol: ProtocolModel = "measured"
) -> Iterator[ReproduceRow]:
    """Yield the rows of some sections, all of ``SECTIONS`` if None, as they are found."""
    for name, rows in _ROWS.items():
        if sections is None or name in sections:
            yield from rows(protocol)


def reproduce_both(sections: Sequence[str] | None = None) -> tuple[MovedRow, ...]:
    """Return the rows of some sections as measured, and how the protocol moved each.

    The ideal ones are found by a second process at the same time, which imports the main module
    again.
    """
    context = get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        ideal = pool.submit(_all_rows, sections, "ideal")
        measured = _all_rows(sections, "measured")
        return tuple(map(_moved, measured, ideal.result()))


def _all_rows(sections: Sequence[str] | None, protocol: ProtocolModel) -> list[ReproduceRow]:
    return list(reproduce(sections, protocol))


def _moved(row: ReproduceRow, ideal: ReproduceRow) -> MovedRow:
    moved = None
    if isinstance(row.model, int | float) and isinstance(ideal.model, int | float):
        moved = 100 * (row.model / ideal.model - 1)
    return MovedRow(**asdict(row), ideal=ideal.model, moved_percent=moved)


def _bandwidth(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """Effective NPU bandwidths, and the traffic that in-network collectives save."""
    for name in FABRICS:
        fabric = parse_topology(name, protocol)
        result = run_collective(fabric, "all_reduce", _GIB)
        sent = result.size_bytes if fabric.in_network else result.bytes_per_npu
        yield _number(
            f"bandwidth/wafer/{name}",
            f"wafer-wide all-reduce on {name} [TB/s]",
            WAFER_BANDWIDTH[name].value / 1e12,
            sent / result.time_s / 1e12,
            "simulated",
            WAFER_BANDWIDTH[name].source,
        )
        if fabric.in_network:
            endpoint = 2 * (fabric.npus - 1) / fabric.npus * result.size_bytes
            yield _number(
                f"traffic/wafer/{name}",
                f"bytes that an NPU sends on {name}, endpoint algorithm = 1",
                0.5,
                result.bytes_per_npu / endpoint,
                "simulated",
                f"{PAPER}: about half the traffic",
                _ABOUT,
            )
    for kind in STRATEGY_BANDWIDTH:
        for name in FABRICS:
            yield from _of_strategy(kind, name, protocol)


def _of_strategy(kind: str, name: str, protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    strategy, figure = Strategy(2, 5, 2), STRATEGY_BANDWIDTH[kind][name]
    fabric = parse_topology(name, protocol)
    # On the mesh a replica of four fills a column, as its figures require: MP pairs and stages
    # are neighbours, and DP groups are rows.
    placed = place(fabric, strategy, "columns" if name.startswith("mesh") else "linear")
    stages = range(strategy.pp)
    if kind == "pp":
        groups = [group for s in stages[:-1] for group in placed.multicasts(s, s + 1)]
    elif kind == "mp":
        groups = [group for s in stages for group in placed.mp_groups(s)]
    else:
        groups = [group for s in stages for group in placed.dp_groups(s)]
    pattern = "broadcast" if kind == "pp" else "all_reduce"
    result = run_collectives(fabric, pattern, _GIB, groups)
    members = len(groups[0])
    endpoint = 1.0 if kind == "pp" else 2 * (members - 1) / members
    sent = 1.0 if fabric.in_network else endpoint
    words = {"mp": "MP all-reduce", "dp": "DP all-reduce", "pp": "PP multicast"}[kind]
    yield _number(
        f"bandwidth/{kind}/{name}",
        f"{words} of {strategy} on {name} [GB/s]",
        figure.value / 1e9,
        sent * result.size_bytes / result.time_s / 1e9,
        "simulated",
        figure.source,
    )
    if kind == "dp" and fabric.in_network:
        yield _number(
            f"traffic/dp/{name}",
            f"traffic saved by the DP all-reduce of {strategy} on {name} [%]",
            37.5,
            100 * (1 - result.bytes_per_npu / (endpoint * result.size_bytes)),
            "simulated",
            figure.source,
        )


def _wafer(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """Hot spot of the mesh, bisections, areas."""
    for n in range(2, 9):
        mesh = parse_topology(f"mesh:{n}x{n}", protocol)
        yield _number(
            f"hot-spot/{n}x{n}",
            f"load of the worst link of a {n} x {n} mesh, one channel = 1",
            2 * n - 1,
            _worst_load(mesh),
            "simulated",
            f"{PAPER}: (2N - 1) times the rate of one channel",
        )
    mesh = parse_topology(BASELINE, protocol)
    yield _number(
        "hot-spot/5x4",
        "rate that the worst link of the 5 x 4 mesh would have to carry [GB/s]",
        1152,
        _worst_load(mesh) * IO_BYTES_PER_S / 1e9,
        "simulated",
        f"{PAPER}: 9 x 128 GB/s",
    )
    for name, published in (("mesh:5x4", 0.65), ("fred-d", 1.0), ("fred-c", 1.0)):
        fabric = parse_topology(name, protocol)
        streamed = profile(fabric, "stream_in", _GIB, [range(fabric.npus)])[0]
        line_s = _GIB / (fabric.io_controllers * IO_BYTES_PER_S)
        yield _number(
            f"line-rate/{name}",
            f"share of their line rate at which all I/O controllers broadcast on {name}",
            published,
            line_s / streamed.time_s,
            "simulated",
            f"{PAPER}: 9 x 128 = 1152 GB/s against 750 GB/s; FRED at line rate",
        )
    for name in FABRICS:
        yield _number(
            f"bisection/{name}",
            f"bisection bandwidth of {name} [TB/s]",
            BISECTION[name].value / 1e12,
            parse_topology(name, protocol).bisection_bytes_per_s() / 1e12,
            "derived: least cut of the graph",
            BISECTION[name].source,
        )
    yield from _areas(protocol)


def _worst_load(fabric: Topology) -> float:
    """Return the load of the worst link between NPUs in a broadcast, in channels."""
    streamed = profile(fabric, "stream_in", _GIB, [range(fabric.npus)])[0]
    channel = _GIB / fabric.io_controllers
    inner = [
        carried
        for link, carried in streamed.loads
        if fabric.links[link].source not in fabric.io_nodes
    ]
    return max(inner) / channel


def _areas(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    fabric = parse_topology("fred-d", protocol)
    assert isinstance(fabric, FredTopology)
    area, decomposed = _switch_area_mm2(fabric)
    source = f"{PAPER}: switch area"
    yield _number(
        "area/switches",
        f"area of all switch chiplets, {decomposed} [mm2]",
        25195,
        area,
        "derived: chiplets from link rates over 600 GB/s ports, published area of each",
        source,
        0.0005,
    )
    yield _number(
        "area/compute",
        "area of NPUs and I/O controllers [mm2]",
        26640,
        fabric.npus * 1314 + fabric.io_controllers * 20,
        "derived: 1314 mm2 and 20 mm2 each",
        f"{PAPER}: 20 NPUs and 18 controllers",
        0.0005,
    )
    yield _number(
        "area/dense-io",
        "area of the switches at 250 GB/s/mm, at 107.4 GB/s/mm = 100 [%]",
        18.4,
        100 * (107.4 / 250) ** 2,
        "derived: the perimeter sets both sides of a chiplet",
        source,
        0.01,
    )
    yield _number(
        "power/share",
        "power of the switches, of 15 kW [%]",
        1.2,
        100 * 179.35 / 15000,
        "derived from 179.35 W",
        f"{PAPER}: power overhead",
        0.01,
    )


def _switch_area_mm2(fabric: FredTopology) -> tuple[float, str]:
    """Return the area of all chiplets and their number by ports, from the links of the fabric."""
    port = 600e9
    area, counts = 0.0, dict.fromkeys(CHIPLET_AREA_MM2, 0)
    sides = [fabric.links[fabric.link_index[node, fabric.l2_node]] for node in fabric.l1_nodes]
    for node, uplink in zip(fabric.l1_nodes, sides, strict=True):
        ends = [link.target for link in fabric.links if link.source == node]
        npus = [end for end in ends if fabric.nodes[end].kind == "npu"]
        ios = [end for end in ends if fabric.nodes[end].kind == "io"]
        # As many chiplets as an NPU has ports; each of them has a port of every I/O controller.
        chips = round(fabric.links[fabric.link_index[npus[0], node]].bytes_per_s / port)
        ports = len(npus) + len(ios) + round(uplink.bytes_per_s / port / chips)
        counts[ports] += chips
        area += chips * CHIPLET_AREA_MM2[ports]
    total = sum(link.bytes_per_s for link in sides)
    ports = 2 * len(sides)  # two of every L1, so that each chiplet reaches all of them
    chips = round(total / port / ports)
    counts[ports] += chips
    area += chips * CHIPLET_AREA_MM2[ports]
    text = ", ".join(f"{number} of {ports} ports" for ports, number in counts.items())
    return area, text


def _speedups(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """End-to-end speed-ups over the mesh: calibrated on FRED-C, FRED-D predicted."""
    for name in WORKLOADS:
        workload = load_workload(name)
        found = {
            fabric: estimate(parse_topology(fabric, protocol), workload, compute="calibrated")
            for fabric in (BASELINE, FABRIC, "fred-d")
        }
        times = {fabric: one.iteration_time_s for fabric, one in found.items()}
        scale, share = found[FABRIC].compute_scale, found[FABRIC].peak_share
        yield _number(
            f"speedup/{name}/fred-c",
            f"speed-up of {name} on FRED-C",
            SPEEDUP_C[name].value,
            times[BASELINE] / times[FABRIC],
            f"calibrated on this figure: compute of the roofline times {scale:.4g}, "
            f"{share:.3g} times the peak of the NPU",
            SPEEDUP_C[name].source,
            END_TO_END,
        )
        yield _number(
            f"speedup/{name}/fred-d",
            f"speed-up of {name} on FRED-D",
            SPEEDUP_D[name].value,
            times[BASELINE] / times["fred-d"],
            "calibrated on FRED-C, predicted",
            SPEEDUP_D[name].source,
            END_TO_END,
        )
    resnet = load_workload("resnet-152")
    for fabric, published in ((BASELINE, 152.0), (FABRIC, 76.0), ("fred-d", 40.0)):
        found = estimate(parse_topology(fabric, protocol), resnet, compute="calibrated")
        yield _number(
            f"time/resnet-152/dp/{fabric}",
            f"gradient all-reduce of ResNet-152 on {fabric} [us]",
            published,
            found.exposed_s.dp * 1e6,
            "simulated",
            f"derived from {PAPER}: 228 MB per NPU of endpoint traffic at the published rates",
        )
        if fabric == FABRIC:
            size = NUMBER_BYTES * resnet.network.parameters
            sent = run_collective(
                parse_topology(fabric, protocol), "all_reduce", size
            ).bytes_per_npu
            yield _number(
                "traffic/resnet-152/dp",
                "endpoint traffic of the gradients of ResNet-152 per NPU [MB]",
                228.0,
                sent / 1e6,
                "simulated",
                f"derived from {PAPER}: 60 M parameters, 2 (N - 1) / N times their bytes",
            )
            yield _number(
                "time/resnet-152/compute",
                "compute of ResNet-152 that the published speed-up of FRED-C implies [us]",
                109.0,
                found.compute_s * 1e6,
                "calibrated on FRED-C",
                f"derived from {PAPER}: solved from 152 us, 76 us and 1.41",
            )


@cache
def swept(name: str, protocol: ProtocolModel) -> tuple[StrategyRow, ...]:
    """Return the published sweep of a workload, on the mesh and FRED-D, all 20 NPUs in use."""
    workload, figures = load_workload(name), SWEEPS[name]
    fabrics = [parse_topology(fabric, protocol) for fabric in (BASELINE, "fred-d")]
    choices = feasible(workload, fabrics[0].npus, fabrics[0].npus)
    return sweep(fabrics, workload, choices, figures.samples_per_replica, "calibrated")


def _sweeps(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """Averages over all strategies, and which is best where."""
    for name, figures in SWEEPS.items():
        rows = swept(name, protocol)
        mesh = {r.estimate.strategy: r.estimate for r in rows if r.estimate.topology == BASELINE}
        fred = {r.estimate.strategy: r.estimate for r in rows if r.estimate.topology == "fred-d"}
        how = "calibrated on FRED-C, predicted; mean of the ratios of all strategies"
        exposed = [
            mesh[key].exposed_s.total_s / fred[key].exposed_s.total_s
            for key in mesh
            if fred[key].exposed_s.total_s
        ]
        speedups = [mesh[key].time_per_sample_s / fred[key].time_per_sample_s for key in mesh]
        yield _number(
            f"sweep/{name}/exposed",
            f"exposed communication of {name}, mesh over FRED-D, all strategies",
            figures.exposed.value,
            sum(exposed) / len(exposed),
            how,
            figures.exposed.source,
            END_TO_END,
        )
        yield _number(
            f"sweep/{name}/speedup",
            f"speed-up of {name}, FRED-D over the mesh, all strategies",
            figures.speedup.value,
            sum(speedups) / len(speedups),
            how,
            figures.speedup.source,
            END_TO_END,
        )
        predicted = "calibrated on FRED-C, predicted"
        best = min(fred, key=lambda key: fred[key].time_per_sample_s)
        on_mesh = min(mesh, key=lambda key: mesh[key].time_per_sample_s)
        least = min(fred, key=lambda key: fred[key].compute_s / fred[key].minibatch)
        yield _word(
            f"sweep/{name}/best/fred-d",
            f"fastest strategy of {name} on FRED-D",
            figures.best,
            best,
            predicted,
            figures.best_source,
        )
        yield _word(
            f"sweep/{name}/least-compute",
            f"strategy of {name} with the least compute",
            figures.best,
            least,
            predicted,
            figures.best_source,
        )
        yield _word(
            f"sweep/{name}/best/mesh",
            f"the strategy of {name} with the least compute is also the fastest on the mesh",
            "no",
            "yes" if on_mesh == least else "no",
            predicted,
            f"{PAPER}: on the mesh it is not",
        )


_ROWS: dict[str, Callable[[ProtocolModel], Iterator[ReproduceRow]]] = {
    "bandwidth": _bandwidth,
    "wafer": _wafer,
    "speedups": _speedups,
    "sweeps": _sweeps,
}

SECTIONS = tuple(_ROWS)
"""Parts of the table."""
