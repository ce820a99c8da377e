"""Command `fred repurpose`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.repurpose import BASELINES, LATENCIES, LAYERS
from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.numbers import Integer, Number
from fred_cli.options import (
    InputPath,
    ListingOption,
    NameChoice,
    OutputPath,
    as_json_option,
    csv_option,
    topologies_listing,
    topology_name,
)
from fred_cli.output import need_plotly, plain, print_json, print_provenance, write_given
from fred_cli.progress import progress
from fred_hw.errors import InputError

__all__ = ["command"]

_MOST_WORKERS = 4096
_PENALTY = Number(0, 1e30)


@click.command(
    "repurpose",
    cls=Command,
    example="fred repurpose examples/repurpose/hidden-blocks.npz --workers 4 --calibration "
    "examples/repurpose/samples.npz",
)
@click.argument("model", type=InputPath())
@click.option("--workers", type=Integer(), required=True, help="Workers that share the network.")
@click.option(
    "--calibration",
    type=InputPath(),
    required=True,
    metavar="DATA.npz",
    help="Calibration samples: array inputs, and labels to report accuracy.",
)
@click.option(
    "--test", "test", type=InputPath(), metavar="DATA.npz", help="Test samples to report accuracy."
)
@click.option(
    "--architecture",
    type=InputPath(),
    metavar="FILE.yaml",
    help="Operations of a MODEL with tensors only; by default, a chain of products with ReLU.",
)
@click.option(
    "--max-error",
    type=_PENALTY,
    default=0.05,
    show_default=True,
    help="Largest relative change of the output on the calibration data; determines --lambda1 "
    "unless that is given.",
)
@click.option(
    "--lambda0", type=_PENALTY, default=0.0, show_default=True, help="Penalty of a kept weight."
)
@click.option("--lambda1", type=_PENALTY, help="Penalty of an activation or a weight that crosses.")
@click.option(
    "--form",
    type=NameChoice(names_in("perfmodel.repurpose.pruning", "FORMS")),
    default="activation",
    show_default=True,
    help="What --lambda1 counts: weights with remote inputs (edge), or activations sent to a "
    "worker (activation).",
)
@click.option(
    "--capacity",
    "capacities",
    multiple=True,
    metavar="LAYER=LIST",
    help="Largest number of neurons of a layer on each worker; equal parts by default.",
)
@click.option(
    "--pin",
    "pins",
    multiple=True,
    metavar="LAYER=WORKER",
    help="Put a whole layer on one worker; LAYER may be input, for the inputs of the network.",
)
@click.option("--refit/--no-refit", default=True, help="Refit kept weights.  [default: refit]")
@click.option("--baselines", is_flag=True, help="Compare with baselines at equal error.")
@click.option(
    "--chart", type=OutputPath(), metavar="FILE.html", help="Draw crossings against error."
)
@click.option(
    "--topology",
    "topologies",
    multiple=True,
    metavar="NAME|FILE",
    type=topology_name,
    cls=ListingOption,
    listing=lambda: f"Simulate the latency of an inference; repeatable: {topologies_listing()}",
)
@click.option(
    "-o",
    "--output",
    type=OutputPath(),
    metavar="FILE",
    help="Write the pruned weights in the order of workers: .npz or .safetensors.",
)
@csv_option
@as_json_option
def command(
    model: Path,
    workers: int,
    calibration: Path,
    test: Path | None,
    architecture: Path | None,
    max_error: float,
    lambda0: float,
    lambda1: float | None,
    form: str,
    capacities: tuple[str, ...],
    pins: tuple[str, ...],
    refit: bool,
    baselines: bool,
    chart: Path | None,
    topologies: tuple[str, ...],
    output: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Place the neurons of MODEL on workers and prune it, so that few activations cross.

    MODEL is a trained network: .onnx, or the tensors of one in .npz or .safetensors.
    """
    from perfmodel.repurpose.pruning import Penalties
    from perfmodel.repurpose.restructure import Options
    from perfmodel.repurpose.weights_file import check_ending, weights_bytes

    penalties = Penalties(
        lambda0,
        0.0 if lambda1 is None else lambda1,
        "edge" if form == "edge" else "activation",
    )
    if not 1 <= workers <= _MOST_WORKERS:
        raise InputError("--workers", "", f"must be 1 to {_MOST_WORKERS}, not {workers}")
    if output:
        check_ending(output)
    if chart:
        need_plotly()
    options = Options(workers, penalties, _capacities(capacities), _pins(pins), refit)
    files = (model, architecture, calibration, test)
    error = max_error if lambda1 is None else None
    with progress("placing a network"):
        report = _report(files, options, error, topologies, baselines, bool(chart))
        made = report.found.made
        content = {
            csv_file: lambda: LAYERS.csv(made.layers),
            chart: lambda: report.chart(str(model)),
            output: partial(weights_bytes, made.permuted(made.network), output or Path()),
        }
        write_given(content)
    if as_json:
        print_json(report.json(model))
    else:
        report.say(model)


def _report(
    files: tuple[Path, Path | None, Path, Path | None],
    options: Any,
    max_error: float | None,
    topologies: Sequence[str],
    with_baselines: bool,
    with_curves: bool,
) -> "_Report":
    """Return the report for a model, its architecture, calibration data and test data."""
    from perfmodel.repurpose.calibrated import calibrate
    from perfmodel.repurpose.samples import read_samples
    from perfmodel.repurpose.study import answer, compare_latency, split
    from perfmodel.repurpose.tradeoff import baselines, curves, measure
    from tracemodel.api import load_fabric

    model, architecture, calibration, test = files
    network = _network(model, architecture)
    samples = read_samples(calibration)
    others = read_samples(test) if test else samples
    for one, path in ((samples, calibration), (others, test or calibration)):
        one.check_labels(network, str(path))
    fabrics = [load_fabric(one) for one in topologies]
    calibrated = calibrate(network, samples.inputs)
    found = answer(calibrated, options, max_error)
    as_it_is = split(calibrated, options)
    return _Report(
        found,
        measure("repurpose", found.options, found.made),
        measure("contiguous", options, as_it_is),
        baselines(calibrated, found.options, found.error) if with_baselines else [],
        curves(calibrated, found.options) if with_curves else [],
        compare_latency(found, as_it_is, fabrics),
        others,
    )


def _network(model: Path, architecture: Path | None) -> Any:
    from perfmodel.repurpose.architecture import load_architecture
    from perfmodel.repurpose.reader import read_network

    return read_network(model, load_architecture(architecture) if architecture else None)


def _pairs(option: str, texts: Sequence[str], what: str) -> dict[str, list[int]]:
    """Return the integers of each LAYER=LIST."""
    found: dict[str, list[int]] = {}
    for text in texts:
        name, equals, rest = text.rpartition("=")
        parts = rest.split(",")
        if not (equals and name and all(one.isdecimal() and len(one) < 10 for one in parts)):
            raise InputError(option, "", f"must be LAYER={what}, not {text!r}")
        if name in found:
            raise InputError(option, name, "must be given once")
        found[name] = [int(one) for one in parts]
    return found


def _capacities(texts: Sequence[str]) -> dict[str, list[int]]:
    return _pairs("--capacity", texts, "NUMBER,NUMBER,...")


def _pins(texts: Sequence[str]) -> dict[str, int]:
    pairs = _pairs("--pin", texts, "WORKER")
    for name, numbers in pairs.items():
        if len(numbers) > 1:
            raise InputError("--pin", name, f"must be one worker, not {len(numbers)}")
    return {name: numbers[0] for name, numbers in pairs.items()}


class _Report:
    """The results of a placement, as text, JSON or a chart.

    Parameters
    ----------
    found : Answer
        The answer.
    chosen, plain_split : Point
        The placement, and the unchanged network, split in its order.
    baselines : sequence of Point
        Baselines at equal error.
    drawn : sequence of sequence of Point
        Curves of the chart.
    latencies : sequence of Comparison
        Latencies on each topology.
    samples : Samples
        Samples for accuracy and error: test data, or else calibration data.
    """

    def __init__(
        self,
        found: Any,
        chosen: Any,
        plain_split: Any,
        baselines: Sequence[Any],
        drawn: Sequence[Sequence[Any]],
        latencies: Sequence[Any],
        samples: Any,
    ) -> None:
        from perfmodel.repurpose.tradeoff import relative_error

        self.found, self._chosen, self._split = found, chosen, plain_split
        self._baselines, self._drawn, self._latencies = baselines, drawn, latencies
        made = found.made
        pair = (made.calibrated.network, made.network)
        before, after = (one.run(samples.inputs) for one in pair)
        self._accuracy = [samples.accuracy(one) for one in (before, after)]
        self._error = relative_error(after, before)

    def chart(self, name: str) -> str:
        """Return the page with the chart."""
        from fred_cli.drawings.chart import page
        from fred_cli.drawings.repurpose import tradeoff_chart

        drawn = tradeoff_chart(self._drawn, self._chosen, self._split.activations)
        return page(f"{name} on {self.found.made.workers} workers", drawn)

    def say(self, model: Path) -> None:
        """Print tables and a summary."""
        found, chosen, before = self.found, self._chosen, self._split
        LAYERS.print(f"{model} on {found.made.workers} workers", found.made.layers)
        print(
            f"activations that cross: {chosen.activations:,}, {before.activations:,} without "
            "placement and pruning"
        )
        bound = found.error_bound
        most = "no bound" if bound is None else f"at most {100 * bound:.4g} %"
        print(
            f"change of the output: {100 * found.error:.4g} % on the calibration data ({most}), "
            f"{100 * self._error:.4g} % on the test data"
        )
        if self._accuracy[0] is not None:
            first, last = self._accuracy
            print(f"accuracy: {100 * first:.2f} % before, {100 * last:.2f} % after")
        penalties = found.options.penalties
        print(f"penalties: lambda0 {penalties.lam0:.4g}, lambda1 {penalties.lam1:.4g}")
        if self._baselines:
            BASELINES.print("Placements at equal error", [chosen, *self._baselines])
        if self._latencies:
            LATENCIES.print("Latency of an inference", self._latencies)
            for one in self._latencies:
                print(f"{one.placed.topology}, trees of {one.placed.trees}:")
                print_provenance(one.placed.provenance)

    def json(self, model: Path) -> dict[str, Any]:
        """Return all results as JSON values."""
        found, made = self.found, self.found.made
        units, orders = made.calibrated.units, made.orders()
        return {
            "model": str(model),
            "workers": made.workers,
            **plain(found.options.penalties),
            "error": found.error,
            "test_error": self._error,
            "error_bound": found.error_bound,
            "accuracy_before": self._accuracy[0],
            "accuracy_after": self._accuracy[1],
            "reordering_error": found.reordering_error,
            "partition_error": found.partition_error,
            "crossings": self._chosen.activations,
            "crossings_split": self._split.activations,
            "numbers_received": self._chosen.numbers,
            "numbers_received_split": self._split.numbers,
            "nonzeros": self._chosen.nonzeros,
            "weights": self._split.nonzeros,
            "layers": made.layers,
            "placement": {
                name: made.worker_of_unit[layer].tolist() for name, layer in units.layers.items()
            },
            "permutations": {name: order.tolist() for name, order in orders.items()},
            "traffic": [
                {
                    "value": one.value,
                    "before": one.before,
                    "crossings": one.activations,
                    "edges": one.edges,
                    "multicasts": one.multicasts,
                }
                for one in found.crossings
            ],
            "baselines": self._baselines,
            "curves": self._drawn,
            "latencies": [{**plain(one), "speedup": one.speedup} for one in self._latencies],
        }
