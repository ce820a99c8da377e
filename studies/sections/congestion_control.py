"""Effect of congestion control on training, on GPUs and on FRED wafers."""

from collections.abc import Iterator, Sequence

from perfmodel.derived import Derived
from perfmodel.published import Statement
from studies.congestion import (
    NETWORKS,
    WORKLOADS,
    CongestionPoint,
    compared,
    incast,
    on_wafers,
    without_telemetry,
)
from studies.section import SECTIONS, ReproduceRow, Section, Setting, bound, word

__all__ = ["congestion_control", "slowdowns"]

_LITTLE = Statement(
    "little",
    "RoCE congestion control on training collectives, HOTI 2022, arXiv 2207.10898, abstract: "
    "the schemes change end-to-end time very little compared with plain PFC",
)
_LITTLE_SHARE = 0.10
"""Largest slowdown that is considered small; an assumption, as the publication gives no number."""

_BOUNDS = {"one switch": 6.0, "Clos 2:1": 10.0, "Clos 2:1 with NVSwitches": 10.0}
"""Largest slowdown of an all-reduce, given that its flows share no link [%]."""

_STEPS = (
    "a ring puts one flow on each link, so that nothing is marked; HPCC and HPCC-PINT are slower "
    "by their target of 95 %, and HPCC, TIMELY and HPCC-PINT by 42, 8 and 2 bytes in each packet"
)
_ON_WAFERS = "what we call little for GPUs; nothing is published for wafers"
_FEWER = Derived(50.0, "schemes exist to relieve incast, so each halves the pauses at least")
"""Largest number of incast pauses under any scheme, relative to PFC alone [%]."""


def slowdowns(points: Sequence[CongestionPoint]) -> dict[str, float]:
    """Return the slowdown of each scheme relative to pauses alone, which come first [%]."""
    base_s = points[0].time_s
    return {one.scheme: 100 * (one.time_s / base_s - 1) for one in points}


def congestion_control(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield slowdowns relative to pauses alone, compared with the publication and with bounds."""
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
    for workload in WORKLOADS:
        each = slowdowns(on_wafers(workload, setting.protocol))
        yield bound(
            f"congestion/wafers/{workload.lower()}",
            f"slowest scheme of {workload} over pauses alone, nodes are wafers of FRED [%]",
            Derived(100 * _LITTLE_SHARE, _ON_WAFERS),
            max(each.values()),
            f"4 wafers of fred-d, 18 NICs each, 2:1 Clos, single packets: {_listed(each)}",
        )
    yield _incast()


def _influence(percent: Sequence[float]) -> str:
    return "little" if max(map(abs, percent)) <= 100 * _LITTLE_SHARE else "large"


def _listed(each: dict[str, float]) -> str:
    return ", ".join(f"{scheme} {one:+.1f} %" for scheme, one in each.items() if scheme != "pfc")


def _bounds() -> Iterator[ReproduceRow]:
    """Yield the slowest scheme of an all-reduce."""
    for network, limit in _BOUNDS.items():
        points = compared(network, "all-reduce")
        each, how = slowdowns(points), "single packets"
        if network == "one switch":
            bare = slowdowns([points[0], without_telemetry(network, "all-reduce")])["hpcc"]
            how = f"single packets; without telemetry hpcc {bare:+.1f} %"
        yield bound(
            f"congestion/all-reduce/{network.lower().replace(' ', '-')}",
            f"slowest scheme of a ring all-reduce over pauses alone, {network} [%]",
            Derived(limit, _STEPS),
            max(each.values()),
            how,
        )


def _incast() -> ReproduceRow:
    """Yield the control experiment: whether the model distinguishes the schemes at all."""
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
