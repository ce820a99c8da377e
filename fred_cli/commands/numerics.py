"""Command `fred numerics`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.numbers import IntegerFrom
from fred_cli.options import (
    InputPath,
    NameChoice,
    as_json_option,
    read_spec,
    refuse_given,
    set_option,
    spec_argument,
)
from fred_cli.output import checked, print_json, table
from fred_hw.errors import InputError

if TYPE_CHECKING:
    from testbench.models.numerics import Error, Numerics

__all__ = ["command"]


def _float_formats(*_: object) -> list[str]:
    from fred_hw.formats.number_format import FORMATS, FloatFormat

    return [name for name in FORMATS if isinstance(FORMATS[name], FloatFormat)]


@click.command("numerics", cls=Command, example="fred numerics l1-12 --elements 1000")
@spec_argument
@set_option
@click.option(
    "--values",
    type=InputPath(),
    metavar="FILE",
    help="Operands as .npy or CSV: a row for each port or NPU, a column for each sum.",
)
@click.option(
    "--distribution",
    type=NameChoice(names_in("testbench.models.numerics", "DISTRIBUTIONS")),
    default="normal",
    show_default=True,
    help="Distribution of random operands.",
)
@click.option(
    "--elements",
    type=IntegerFrom(1, 1_000_000),
    default=10_000,
    show_default=True,
    help="Number of sums.",
)
@click.option(
    "--seed", type=IntegerFrom(0), default=1, show_default=True, help="Seed of random operands."
)
@click.option(
    "--format",
    "formats",
    type=NameChoice(_float_formats),
    multiple=True,
    help="Number format, any number of times; by default all floats.",
)
@as_json_option
def command(
    spec_source: str,
    changes: tuple[str, ...],
    values: Path | None,
    distribution: str,
    elements: int,
    seed: int,
    formats: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the rounding errors of sums in SPEC and in ring order, for each float format.

    SPEC is a switch or the YAML file of a wafer. All ports or NPUs take part in an all-reduce, in
    the order of its routed tree, bit by bit as in the RTL. With `--set accumulation=fp32`, the
    tree is also computed with sums in that format inside each switch.
    """
    from fred_hw.formats.number_format import FORMATS, FloatFormat
    from fred_hw.wafer.load import is_wafer, load_wafer
    from testbench.models.numerics import compare_sums, inputs_of

    if values:
        refuse_given("distribution", "elements", "seed", message="must be left out with --values")
    if is_wafer(spec_source):
        spec = read_spec(spec_source, changes, load_wafer, "a wafer specification")
        count = spec.npus
    else:
        spec = read_spec(spec_source, changes)
        count = spec.ports
    operands = _read(values) if values else inputs_of(distribution, count, elements, seed)
    found: list[Numerics] = []
    for name in dict.fromkeys(formats or _float_formats()):
        form = FORMATS[name]
        assert isinstance(form, FloatFormat)
        with checked(str(values) if values else "--distribution"):
            found.append(compare_sums(spec, operands, form))
    if as_json:
        print_json({"name": spec.name, "formats": found})
        return 0
    columns = ("format", "order", "max [ulp]", "mean [ulp]", "rms [ulp]", "max relative")
    columns += ("rms relative", "rounded exactly", "not finite", "tree = ring")
    rows = [row for one in found for row in _rows(one)]
    table(f"{spec.name}: {operands.shape[1]:,} sums of {count} operands", columns, rows)
    return 0


def _rows(one: "Numerics") -> Iterator[tuple[str, ...]]:
    yield _row(one, "tree", one.tree)
    if one.accumulated is not None:
        yield _row(one, f"tree in {one.accumulation}", one.accumulated)
    yield _row(one, "ring", one.ring)


def _row(one: "Numerics", order: str, error: "Error") -> tuple[str, ...]:
    ulps = (f"{value:.3g}" for value in (error.max_ulps, error.mean_ulps, error.rms_ulps))
    relative = (f"{value:.2e}" for value in (error.max_relative, error.rms_relative))
    share = f"{100 * one.equal:.1f} %" if order == "tree" else ""
    rounded = f"{100 * error.rounded:.1f} %"
    return (one.format, order, *ulps, *relative, rounded, str(error.not_finite), share)


def _read(path: Path) -> Any:
    """Return the finite numbers of a file, shape (rows, columns)."""
    import numpy as np

    try:
        if path.suffix == ".npy":
            found = np.load(path, allow_pickle=False)
        else:
            found = np.loadtxt(path, delimiter=",", ndmin=2)
        found = np.asarray(found, np.float64)
    except OSError as error:
        raise InputError(str(path), "", f"must be readable: {error.strerror or error}") from None
    except (ValueError, TypeError, EOFError):
        raise InputError(str(path), "", "must be an array of numbers, as .npy or CSV") from None
    if found.ndim != 2 or not found.size:
        raise InputError(str(path), "", f"must have rows and columns, not shape {found.shape}")
    if not np.isfinite(found).all():
        raise InputError(str(path), "", "must have finite numbers only")
    return found
