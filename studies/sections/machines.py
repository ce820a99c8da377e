"""Published measurements of A100s and H100s, and published errors of other simulators."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfmodel.published import Published
from perfmodel.published_machines import (
    ALL_REDUCE,
    COLLECTIVES,
    GIB,
    ITERATIONS,
    LLAMA_MFU,
    MIB,
    SIMULATOR_ERRORS,
    Measured,
)
from studies.a100 import iteration_rows
from studies.machines import (
    CALLS,
    PRODUCT_EFFICIENCY,
    bus_bandwidth,
    iteration,
    model_flops,
    utilization,
)
from studies.section import (
    SECTIONS,
    Evidence,
    ReproduceRow,
    Section,
    Setting,
    measured,
)

__all__ = ["FITTED_ITERATIONS", "FITTED_SIZES", "errors", "machines"]

FITTED_SIZES = {
    ("a100/azure", 16 * MIB),
    ("a100/azure", 8 * GIB),
    ("h100/dgx-cloud", 16 * MIB),
    ("h100/dgx-cloud", 8 * GIB),
}
"""All-reduces to which the link share and the call time were fitted."""

FITTED_ITERATIONS = {"llama-3-8b/8", "llama-3-70b/64"}
"""Iterations to which the efficiency of products was fitted."""

_PATTERNS = {"all_gather": "all-gather", "all_reduce": "all-reduce", "all_to_all": "all-to-all"}

_REPLICAS = 4
"""Number of replicas that are simulated, out of 64 or 128; others only add hidden gradient
reduction."""


def machines(_setting: Setting) -> Iterator[ReproduceRow]:
    """Yield iterations and collectives of A100s and H100s, whose links have no FRED protocol."""
    eight = list(iteration_rows())
    yield from (replace(row, id=f"machines/a100/{row.id}") for row in eight)
    yield from _simulator_errors(eight)
    for machine, figures in ALL_REDUCE.items():
        for size, figure in figures.items():
            yield _all_reduce(machine, size, figure)
    for nodes, figures in COLLECTIVES.items():
        for pattern, figure in figures.items():
            yield _collective(nodes, pattern, figure)
    ten = [_iteration(name, run) for name, run in ITERATIONS.items()]
    yield from ten
    yield _h100_error([row for row in ten if row.evidence == "predicted"])
    for npus, (samples, figure) in LLAMA_MFU.items():
        yield _mfu(npus, samples, figure)


def errors(rows: Sequence[ReproduceRow]) -> tuple[float, float]:
    """Return the mean and the largest deviation of the rows' ratios from 1 [%]."""
    found = [100 * abs(row.ratio - 1) for row in rows if row.ratio is not None]
    return sum(found) / len(found), max(found)


def _simulator_errors(eight: Sequence[ReproduceRow]) -> Iterator[ReproduceRow]:
    """Yield the errors over the eight iterations, compared with those of other simulators."""
    mean, worst = errors(eight)
    for name, one in SIMULATOR_ERRORS.items():
        pairs = [("mean", one.figure, mean)]
        if one.worst is not None:
            pairs.append(("worst", one.worst, worst))
        for kind, figure, ours in pairs:
            what = f"{kind} error of eight iterations on A100s; {name}: {one.words} [%]"
            yield _compared_error(f"{name}/{kind}", what, figure, ours)


def _h100_error(predicted: Sequence[ReproduceRow]) -> ReproduceRow:
    """Return the mean error over the predicted iterations on H100s, compared with Charon's."""
    charon, (mean, _) = SIMULATOR_ERRORS["charon"], errors(predicted)
    what = f"mean error of {len(predicted)} predicted iterations on H100s; charon: {charon.words}"
    return _compared_error("charon/h100-mean", f"{what} [%]", charon.figure, mean)


def _compared_error(name: str, what: str, figure: Published, ours: float) -> ReproduceRow:
    """Return the row of an error [%] that may be at most that of another simulator."""
    return ReproduceRow(
        id=f"machines/error/{name}",
        what=what,
        evidence="consistency",
        published=figure.value,
        model=ours,
        ratio=ours / figure.value,
        rule="at most theirs",
        ok=ours <= figure.value,
        how="distances of the iterations from their measured times",
        source=figure.source,
    )


def _all_reduce(machine: str, size: int, figure: Published) -> ReproduceRow:
    gpu, where = machine.split("/")
    call, fitted = CALLS[gpu], (machine, size) in FITTED_SIZES
    how = "reduced by the switch" if call.reduces else "ring over the switch"
    parameters = f"links at {call.share:.3f} of their rate, {1e6 * call.call_s:.1f} µs a call"
    fit = "fitted on this figure and another" if fitted else f"fitted on two sizes of {_fit(gpu)}"
    return measured(
        f"machines/{machine}/all-reduce/{size // MIB}-mib",
        f"all-reduce of {size // MIB} MiB on 8 {gpu.upper()} of {where}, bus bandwidth [GB/s]",
        figure,
        bus_bandwidth(gpu, "all_reduce", size) / 1e9,
        f"fluid, {how}; {parameters}, {fit}",
        "calibrated" if fitted else "predicted",
        unit=1e9,
    )


def _fit(gpu: str) -> str:
    return next(machine for machine, _ in FITTED_SIZES if machine.startswith(gpu))


def _collective(nodes: int, pattern: str, figure: Published) -> ReproduceRow:
    network = "; network between nodes at 0.9 of its rate" if nodes > 1 else ""
    return measured(
        f"machines/a100/nodes-{nodes}/{pattern.replace('_', '-')}",
        f"{_PATTERNS[pattern]} of 1 GiB on {8 * nodes} A100, bus bandwidth [GB/s]",
        figure,
        bus_bandwidth("a100", pattern, GIB, nodes) / 1e9,
        f"fluid on blocks; links and call as fitted on {_fit('a100')}{network}",
        unit=1e9,
    )


def _iteration(name: str, run: Measured) -> ReproduceRow:
    found = iteration(run)
    fitted = name in FITTED_ITERATIONS
    evidence: Evidence = "calibrated" if fitted else "predicted"
    fit = "fitted on this iteration and another" if fitted else "fitted on two other iterations"
    layers = f", {run.layers} layers" if run.layers else ""
    return measured(
        f"machines/h100/iteration/{name}",
        f"iteration of {run.model}{layers} on {run.npus} H100, {run.strategy} [s]",
        run.time,
        found.time_s(run.pieces),
        f"fluid on blocks; products at {PRODUCT_EFFICIENCY:g} of the peak, {fit}",
        evidence,
        reading=f"bubble of {run.pieces} pieces a stage" if run.pieces > 1 else "",
        readings={"bubble of one piece a stage": found.plain_s} if run.pieces > 1 else {},
    )


def _mfu(npus: int, samples: int, figure: Published) -> ReproduceRow:
    """Return the row of Llama 3's training; the paper does not state the interleaving.

    Its 126 layers are two short of 8 for each of 16 stages, so there are at most 8 pieces.
    """
    layout, simulated = f"MP8-DP{_REPLICAS}-PP16-SP", 128 * _REPLICAS
    run = Measured("llama-3-405b", simulated, layout, samples, samples, 8, figure)
    found = iteration(run)

    def share(pieces: int, causal: str = "full") -> float:
        return utilization(found.time_s(pieces), model_flops(run, causal), simulated)

    return measured(
        f"machines/h100/mfu/llama-3-405b/{npus}",
        f"model FLOP utilization of Llama 3 405B on {npus} H100 [%]",
        figure,
        share(8),
        f"fluid on blocks, {_REPLICAS} of {npus // 128} replicas; efficiencies as of iterations",
        reading="8 pieces a stage, all pairs of tokens counted",
        readings={
            "4 pieces a stage": share(4),
            "2 pieces a stage": share(2),
            "half of the pairs counted": share(8, "half"),
        },
    )


_TITLE = "Measurements of A100s and H100s"
SECTIONS.add("machines", Section(machines, {"machines": _TITLE}), rank=7)
