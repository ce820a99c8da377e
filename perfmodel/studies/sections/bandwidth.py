"""Effective NPU bandwidths, and the traffic that in-network collectives save."""

from collections.abc import Iterator

from fred_hw.compiler.placement import Strategy
from perfmodel.collectives.run import run_collective, run_collectives
from perfmodel.published import STRATEGY_BANDWIDTH, TRAFFIC_SAVED, TRAFFIC_SHARE, WAFER_BANDWIDTH
from perfmodel.studies.section import GIB, SECTIONS, ReproduceRow, number
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.placement.place import place

__all__ = ["bandwidth"]

_ABOUT = 0.1  # of figures published as "about"


def bandwidth(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """Effective NPU bandwidths, and the traffic that in-network collectives save."""
    for name in FABRICS:
        fabric = parse_topology(name, protocol)
        result = run_collective(fabric, "all_reduce", GIB)
        sent = result.size_bytes if fabric.in_network else result.bytes_per_npu
        yield number(
            f"bandwidth/wafer/{name}",
            f"wafer-wide all-reduce on {name} [TB/s]",
            WAFER_BANDWIDTH[name],
            sent / result.time_s / 1e12,
            "simulated",
            unit=1e12,
        )
        if fabric.in_network:
            endpoint = 2 * (fabric.npus - 1) / fabric.npus * result.size_bytes
            yield number(
                f"traffic/wafer/{name}",
                f"bytes that an NPU sends on {name}, endpoint algorithm = 1",
                TRAFFIC_SHARE,
                result.bytes_per_npu / endpoint,
                "simulated",
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
    placed = place(fabric, strategy, "columns" if fabric.grid else "linear")
    stages = range(strategy.pp)
    if kind == "pp":
        groups = [group for s in stages[:-1] for group in placed.multicasts(s, s + 1)]
    elif kind == "mp":
        groups = [group for s in stages for group in placed.mp_groups(s)]
    else:
        groups = [group for s in stages for group in placed.dp_groups(s)]
    pattern = "broadcast" if kind == "pp" else "all_reduce"
    result = run_collectives(fabric, pattern, GIB, groups)
    members = len(groups[0])
    endpoint = 1.0 if kind == "pp" else 2 * (members - 1) / members
    sent = 1.0 if fabric.in_network else endpoint
    words = {"mp": "MP all-reduce", "dp": "DP all-reduce", "pp": "PP multicast"}[kind]
    yield number(
        f"bandwidth/{kind}/{name}",
        f"{words} of {strategy} on {name} [GB/s]",
        figure,
        sent * result.size_bytes / result.time_s / 1e9,
        "simulated",
        unit=1e9,
    )
    if kind == "dp" and fabric.in_network:
        yield number(
            f"traffic/dp/{name}",
            f"traffic saved by the DP all-reduce of {strategy} on {name} [%]",
            TRAFFIC_SAVED,
            100 * (1 - result.bytes_per_npu / (endpoint * result.size_bytes)),
            "simulated",
        )


SECTIONS.add("bandwidth", bandwidth, rank=0)
