"""Effective NPU bandwidths, and the traffic that in-network collectives save."""

from collections.abc import Iterator, Mapping, Sequence

from fred_hw.compiler.placement import Strategy
from perfmodel.derived import DP_BANDWIDTH, Derived
from perfmodel.network.run import CollectiveResult, run_collective, run_collectives
from perfmodel.published import (
    CLOSER,
    STRATEGY_BANDWIDTH,
    TRAFFIC_SAVED,
    TRAFFIC_SHARE,
    WAFER_BANDWIDTH,
    Published,
)
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import BASELINE, FABRICS, shared_topology
from perfmodel.training.placement.place import Placement, place
from perfmodel.training.placement.policy import fitting
from studies.section import GIB, SECTIONS, ReproduceRow, Section, Setting, number, word

__all__ = ["bandwidth", "strategy_groups"]

STRATEGY = Strategy(2, 5, 2)
"""Strategy for which bandwidths by communication were published."""

_WORDS = {"mp": "MP all-reduce", "dp": "DP all-reduce", "pp": "PP multicast"}
_FIGURES: Mapping[str, Mapping[str, Published | Derived]] = {
    **STRATEGY_BANDWIDTH,
    "dp": DP_BANDWIDTH,
}


def bandwidth(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield effective NPU bandwidths, and the traffic that in-network collectives save."""
    for name in FABRICS:
        fabric = shared_topology(name, setting.protocol)
        result = run_collective(fabric, "all_reduce", GIB, algorithm=setting.algorithm)
        yield number(
            f"bandwidth/wafer/{name}",
            f"effective NPU bandwidth of a wafer-wide all-reduce on {name} [TB/s]",
            WAFER_BANDWIDTH[name],
            result.effective_bandwidth_bytes_per_s / 1e12,
            "simulated, the two orders of the dimensions loading all links alike"
            if fabric.grid
            else "simulated",
            "predicted" if name == "fred-a" else "link-rate",
            unit=1e12,
            readings={"half of the data in each order": _halves(fabric)} if fabric.grid else {},
        )
        if fabric.in_network:
            endpoint = 2 * (fabric.npus - 1) / fabric.npus * result.size_bytes
            yield number(
                f"traffic/wafer/{name}",
                f"bytes that an NPU sends on {name}, endpoint algorithm = 1",
                TRAFFIC_SHARE,
                result.bytes_per_npu / endpoint,
                "N / 2 (N - 1) by what the two are",
                "consistency",
                exact=True,
            )
    for kind in _FIGURES:
        for name in FABRICS:
            yield from _of_strategy(kind, shared_topology(name, setting.protocol), setting)
    yield _closer(setting)


def _halves(fabric: Topology) -> float:
    found = run_collective(fabric, "all_reduce", GIB, algorithm="hierarchical_2d_halves")
    return found.effective_bandwidth_bytes_per_s / 1e12


def strategy_groups(placed: Placement, kind: str) -> list[tuple[int, ...]]:
    """Return the groups of a communication of a placed strategy, ``mp``, ``dp`` or ``pp``."""
    stages = range(placed.strategy.pp)
    if kind == "pp":
        return [tuple(g) for s in stages[:-1] for g in placed.multicasts(s, s + 1)]
    groups = placed.mp_groups if kind == "mp" else placed.dp_groups
    return [tuple(group) for stage in stages for group in groups(stage)]


def _placed(fabric: Topology) -> Placement:
    """Return the placement of workers; of the mesh walks, only columns reproduce all figures."""
    return place(fabric, STRATEGY, "columns" if fabric.grid else "linear")


def _simulated(
    fabric: Topology, kind: str, placed: Placement, algorithm: str
) -> tuple[CollectiveResult, float]:
    """Return the collectives of a kind, and the vector share that an endpoint algorithm sends."""
    groups: Sequence[Sequence[int]] = strategy_groups(placed, kind)
    pattern = "broadcast" if kind == "pp" else "all_reduce"
    members = len(groups[0])
    endpoint = 1.0 if kind == "pp" else 2 * (members - 1) / members
    return run_collectives(fabric, pattern, GIB, groups, algorithm=algorithm), endpoint


def _gb_per_s(fabric: Topology, kind: str, placed: Placement, algorithm: str) -> float:
    result, endpoint = _simulated(fabric, kind, placed, algorithm)
    return (1.0 if fabric.in_network else endpoint) * result.size_bytes / result.time_s / 1e9


def _of_strategy(kind: str, fabric: Topology, setting: Setting) -> Iterator[ReproduceRow]:
    name, algorithm = fabric.name, setting.algorithm
    placed = _placed(fabric)
    others = {
        f"workers in {policy}": _gb_per_s(fabric, kind, place(fabric, STRATEGY, policy), algorithm)
        for policy in (fitting(fabric) if fabric.grid else ())
        if policy != placed.policy
    }
    yield number(
        f"bandwidth/{kind}/{name}",
        f"{_WORDS[kind]} of {STRATEGY} on {name} [GB/s]",
        _FIGURES[kind][name],
        _gb_per_s(fabric, kind, placed, algorithm),
        "simulated, a replica in each column, chosen by these figures"
        if fabric.grid
        else "simulated",
        "calibrated" if fabric.grid else "link-rate",
        unit=1e9,
        readings=others,
    )
    if kind == "dp" and fabric.in_network:
        result, endpoint = _simulated(fabric, kind, placed, algorithm)
        yield number(
            f"traffic/dp/{name}",
            f"traffic saved by the DP all-reduce of {STRATEGY} on {name} [%]",
            TRAFFIC_SAVED,
            100 * (1 - result.bytes_per_npu / (endpoint * result.size_bytes)),
            "1 - N / 2 (N - 1) by what the two are",
            "consistency",
            exact=True,
        )


def _closer(setting: Setting) -> ReproduceRow:
    """Return which of FRED-A and FRED-B has a time closer to that of the mesh."""
    times: dict[str, float] = {}
    for name in (BASELINE, "fred-a", "fred-b"):
        fabric = shared_topology(name, setting.protocol)
        placed = _placed(fabric)
        times[name] = _simulated(fabric, "dp", placed, setting.algorithm)[0].time_s
    a, b = (times[name] / times[BASELINE] for name in ("fred-a", "fred-b"))
    return word(
        "bandwidth/dp/closer",
        f"FRED-A or B, whose DP all-reduce of {STRATEGY} is closer to the mesh",
        CLOSER,
        "B" if abs(b - 1) < abs(a - 1) else "A",
        f"simulated: A takes {a:.3g} and B {b:.3g} times as long as the mesh",
        "link-rate",
    )


_SUBJECTS = {
    "bandwidth": "Effective bandwidths of an NPU",
    "traffic": "Traffic that in-network collectives save",
}
SECTIONS.add("bandwidth", Section(bandwidth, _SUBJECTS), rank=0)
