"""Gains of Themis, compared with its published figures."""

from collections.abc import Iterator

from perfmodel.collectives.themis.network import QueueDimension, ideal_s
from perfmodel.collectives.themis.run import Queuing, run_chunks
from perfmodel.published_themis import (
    NETWORKS,
    THEMIS_MEAN_SPEEDUP,
    THEMIS_SPEEDUP,
    THEMIS_TRAINING,
    THEMIS_UTILIZATION,
    TUTORIAL_US,
    Line,
)
from perfmodel.studies.section import GIB, SECTIONS, ReproduceRow, Section, Setting, number

__all__ = ["themis"]

_LINK_S = 11e-9
"""Link latency and endpoint delay in the runs of the authors' code; a switch counts as two links
[s]."""

_HOW = "simulated by dimensions, 1 GiB in 64 chunks; networks reconstructed by their means"


def themis(_setting: Setting) -> Iterator[ReproduceRow]:
    """Yield utilization and time of collectives by dimension, and the gain in training."""
    found = {key: [_utilization(one, *key) for one in NETWORKS.values()] for key in _KEYS}
    for (policy, intra), figure in THEMIS_UTILIZATION.items():
        yield number(
            f"themis/utilization/{policy}-{intra}",
            f"mean utilization of an all-reduce, {policy}, {intra} [%]",
            figure,
            100 * _mean(found[policy, intra]),
            _HOW,
            "calibrated",
        )
    fixed = found["dimension_order", "fifo"]
    for intra, figure in THEMIS_MEAN_SPEEDUP.items():
        gains = [one / base for one, base in zip(found["themis", intra], fixed, strict=True)]
        what = f"mean speed-up of an all-reduce by Themis, {intra}"
        yield number(f"themis/speedup/mean-{intra}", what, figure, _mean(gains), _HOW, "calibrated")
        if intra == "scf":
            what = "largest speed-up of an all-reduce by Themis"
            yield number("themis/speedup/most", what, THEMIS_SPEEDUP, max(gains), _HOW)
    tutorial: list[Line] = [("switch", 8, 8 * 50)] * 3
    for policy, figure in TUTORIAL_US.items():
        dimensions, how = _dimensions(tutorial), Queuing(policy)
        _, services = run_chunks(dimensions, GIB, "all_reduce", how)
        yield number(
            f"themis/time/{policy}",
            f"all-reduce of 1 GiB on three switches of 8, {policy} [µs]",
            figure,
            1e6 * max(one.done_s for one in services),
            "simulated by dimensions, 64 chunks",
        )
    yield from _training(fixed, found["themis", "scf"])


_KEYS = [*THEMIS_UTILIZATION]


def _training(fixed: list[float], scf: list[float]) -> Iterator[ReproduceRow]:
    """Yield speed-ups of training, with compute derived from the gain of ideal networks.

    In units of the time that a collective takes on an ideal network, an iteration is c + 1 / u with
    compute c and utilization u. The published gain g of ideal networks is the mean of
    (c + 1 / u) / (c + 1) over the fixed orders, which gives c.
    """
    inverse = _mean([1 / one for one in fixed])
    for name, figures in THEMIS_TRAINING.items():
        ideal = figures.ideal.value
        compute = (inverse - ideal) / (ideal - 1)
        gains = [
            (compute + 1 / base) / (compute + 1 / one) for base, one in zip(fixed, scf, strict=True)
        ]
        how = (
            f"all-reduces simulated by dimensions and not hidden; compute is {compute:.3g} ideal "
            f"all-reduces, by the published gain of ideal networks, {figures.ideal.printed}"
        )
        mean, most = (
            (
                f"themis/training/{name.lower()}/{kind}",
                f"{words} speed-up of training {name} by Themis",
            )
            for kind, words in (("mean", "mean"), ("most", "largest"))
        )
        yield number(*mean, figures.mean, _mean(gains), how, "calibrated")
        yield number(*most, figures.most, max(gains), how)


def _utilization(lines: tuple[Line, ...], policy: str, intra: str) -> float:
    dimensions = _dimensions(lines)
    _, services = run_chunks(dimensions, GIB, "all_reduce", Queuing(policy, intra=intra))
    return ideal_s(dimensions, GIB, "all_reduce") / max(one.done_s for one in services)


def _dimensions(lines: "tuple[Line, ...] | list[Line]") -> list[QueueDimension]:
    """Return lines as dimensions; a GB is 2^30 bytes, as in the runs of the authors' code."""
    return [
        QueueDimension(npus, rate / 8 * GIB, _LINK_S * (1 + (kind == "switch")), kind)
        for kind, npus, rate in lines
    ]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


_TITLE = "Chunks in orders of their own (Themis)"
SECTIONS.add("themis", Section(themis, {"themis": _TITLE}), rank=4)
