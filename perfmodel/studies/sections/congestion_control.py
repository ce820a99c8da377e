"""Whether congestion control matters for training, on GPUs and on wafers of FRED."""

from collections.abc import Iterator, Sequence

from perfmodel.derived import Derived
from perfmodel.published import Statement
from perfmodel.studies.congestion import (
    NETWORKS,
    WORKLOADS,
    CongestionPoint,
    compared,
    incast,
    on_wafers,
    without_telemetry,
)
from perfmodel.studies.section import SECTIONS, ReproduceRow, Section, Setting, bound, word

__all__ = ["congestion_control", "slowdowns"]

_LITTLE = Statement(
    "little",
    "RoCE congestion control on training collectives, HOTI 2022, arXiv 2207.10898, abstract: "
    "the schemes change end-to-end time very little compared with plain PFC",
)
_LITTLE_SHARE = 0.10
"""Slowdown up to which we call the influence little: an assumption, as the text has no number."""

_BOUNDS = {"one switch": 6.0, "Clos 2:1": 10.0, "Clos 2:1 with NVSwitches": 10.0}
"""Largest slowdown of an all-reduce that follows from flows which share no link [%]."""

_STEPS = (
    "a ring puts one flow on each link, so that nothing is marked and HPCC alone is slower, "
    "by its target of 95 % and the bytes of its telemetry"
)
_ON_WAFERS = "what we call little for GPUs; nothing is published for wafers"
_FEWER = Derived(50.0, "schemes exist to relieve incast, so each halves the pauses at least")
"""Most pauses of an incast under any scheme, as a share of those with PFC alone [%]."""


def slowdowns(points: Sequence[CongestionPoint]) -> dict[str, float]:
    """Return by how much each scheme is slower than pauses alone, which come first [%]."""
    base_s = points[0].time_s
    return {one.scheme: 100 * (one.time_s / base_s - 1) for one in points}


def congestion_control(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield slowdowns over pauses alone, compared with the published statement and with bounds."""
    for workload in WORKLOADS:
        found = {network: slowdowns(compared(network, workload)) for network in NETWORKS}
        yield word(
            f"congestion/influence/{workload.lower()}",
            f"influence of congestion control on the time of {workload} on GPUs",
            _LITTLE,
            _influence([one for each in found.values() for one in each.values()]),
            "; ".join(f"{network}: {_listed(each)}" for network, each in found.items()),
        )
    yield from _bounds()
    for workload in ("all-reduce", "all-to-all"):
        each = slowdowns(on_wafers(workload, setting.protocol))
        yield bound(
            f"congestion/wafers/{workload}",
            f"slowest scheme of {workload} over pauses alone, nodes are wafers of FRED [%]",
            Derived(100 * _LITTLE_SHARE, _ON_WAFERS),
            max(each.values()),
            f"4 wafers of fred-d, 18 NICs each, 2:1 Clos, packet trains: {_listed(each)}",
        )
    yield _incast()


def _influence(percent: Sequence[float]) -> str:
    return "little" if max(map(abs, percent)) <= 100 * _LITTLE_SHARE else "large"


def _listed(each: dict[str, float]) -> str:
    return ", ".join(f"{scheme} {one:+.1f} %" for scheme, one in each.items() if scheme != "pfc")


def _bounds() -> Iterator[ReproduceRow]:
    """Yield the slowest scheme of an all-reduce, the telemetry of HPCC left out on one switch."""
    for network, limit in _BOUNDS.items():
        points = compared(network, "all-reduce")
        each, how = slowdowns(points), "single packets"
        if network == "one switch":
            alone = without_telemetry(network, "all-reduce")
            how = f"single packets, without telemetry; with it hpcc {each['hpcc']:+.1f} %"
            each["hpcc"] = slowdowns([points[0], alone])["hpcc"]
        yield bound(
            f"congestion/all-reduce/{network.lower().replace(' ', '-')}",
            f"slowest scheme of a ring all-reduce over pauses alone, {network} [%]",
            Derived(limit, _STEPS),
            max(each.values()),
            how,
        )


def _incast() -> ReproduceRow:
    """Return the control experiment: whether the model tells schemes apart at all."""
    pauses = {one.scheme: one.found.pauses for one in incast()}
    most = max(count for scheme, count in pauses.items() if scheme != "pfc")
    return bound(
        "congestion/incast/pauses",
        "most pauses of any scheme over those with PFC alone, incast of 31 GPUs [%]",
        _FEWER,
        100 * most / pauses["pfc"],
        ", ".join(f"{scheme} {count}" for scheme, count in pauses.items()),
    )


_TITLE = "Congestion control of Ethernet between nodes"
SECTIONS.add(
    "congestion-control",
    Section(congestion_control, {"congestion": _TITLE}, "numba", "roce"),
    rank=7,
)
