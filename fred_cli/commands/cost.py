"""Command `fred cost`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fred_cli.command import Command
from fred_cli.numbers import IntegerFrom, Number
from fred_cli.options import (
    InputPath,
    as_json_option,
    collectives_name,
    csv_option,
    read_spec,
    refuse_given,
)
from fred_cli.output import checked, plain, print_json
from fred_hw.errors import InputError

if TYPE_CHECKING:
    from fred_hw.compiler.placement import Strategy
    from fred_hw.wafer.spec import WaferSpec
    from perfmodel.wafer_cost.report import CostModel, DensityRow, FaultRow, SearchRow
    from perfmodel.wafer_cost.yields import Process

__all__ = ["command"]


@click.command(
    "cost", cls=Command, example="fred cost examples/wafer-20.yaml --strategy MP2-DP5-PP2 --search"
)
@click.argument("path", metavar="[WAFER]", required=False, type=InputPath())
@click.option(
    "--density",
    "densities",
    multiple=True,
    type=Number(1, 1e5),
    metavar="GB/S/MM",
    help="I/O density of chiplet edges, both directions together; may be repeated.  "
    "[default: 107.4, 250 and 1000, the published ones]",
)
@click.option(
    "--npu-bandwidth",
    type=Number(1, 1e6),
    default=3000,
    show_default=True,
    metavar="GB/S",
    help="Bandwidth of an NPU over all planes, each direction.",
)
@click.option(
    "--io-bandwidth",
    type=Number(1, 1e6),
    default=128,
    show_default=True,
    metavar="GB/S",
    help="Bandwidth of an I/O controller over all planes, each direction.",
)
@click.option(
    "--defect-density",
    type=Number(0, 1e3),
    metavar="PER_CM2",
    help="Your assumption: defects per cm2 that break a die. With --clustering, adds yields.",
)
@click.option(
    "--clustering",
    type=Number(1e-3, 1e6),
    metavar="ALPHA",
    help="Your assumption: clustering of defects in the negative binomial model.",
)
@click.option(
    "--wafer-price",
    type=Number(1e-3, 1e9),
    metavar="PRICE",
    help="Your assumption: price of a processed wafer of 300 mm. Adds prices.",
)
@click.option(
    "--test-price",
    type=Number(0, 1e9),
    metavar="PRICE",
    help="Your assumption: price of the test of one chiplet.  [default: 0]",
)
@click.option(
    "--bond-yield",
    type=Number(1e-3, 1),
    metavar="SHARE",
    help="Your assumption: share of bonded chiplets that work.  [default: 1]",
)
@click.option(
    "--strategy",
    help="List the single faults that a plane survives with a strategy like MP2-DP5-PP2.",
)
@click.option(
    "--collectives",
    type=collectives_name,
    help="With --strategy: collectives by switches (the default), or by rings of endpoints.",
)
@click.option(
    "--search",
    is_flag=True,
    help="Search for the wafers of least area, or of least price with --wafer-price.",
)
@click.option(
    "--max-chiplets",
    type=IntegerFrom(1, 4096),
    metavar="N",
    help="With --search: largest number of chiplets of a wafer.  [default: that of WAFER]",
)
@click.option(
    "--min-port-bandwidth",
    type=Number(1, 1e6),
    metavar="GB/S",
    help="With --search: least bandwidth of a port.  [default: 1/64 of --npu-bandwidth]",
)
@click.option(
    "--max-area",
    type=Number(1, 7e4),
    metavar="MM2",
    help="With --search: largest area of a chiplet.  [default: 858, a scanner's 26 mm x 33 mm]",
)
@csv_option
@as_json_option
def command(
    path: Path | None,
    densities: tuple[float, ...],
    npu_bandwidth: float,
    io_bandwidth: float,
    defect_density: float | None,
    clustering: float | None,
    wafer_price: float | None,
    test_price: float | None,
    bond_yield: float | None,
    strategy: str | None,
    collectives: str | None,
    search: bool,
    max_chiplets: int | None,
    min_port_bandwidth: float | None,
    max_area: float | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Compute area, wiring, yield and price of the switches of WAFER, by default the published one.

    WAFER is the YAML file of a wafer. Prices cover the switch chiplets only, in the currency of
    --wafer-price.
    """
    from fred_cli.columns.cost import KINDS
    from perfmodel.published import IO_GB_PER_S_PER_MM
    from perfmodel.wafer_cost.report import CostModel

    if strategy is None:
        refuse_given("collectives", message="must be given with --strategy, not alone")
    if not search:
        names = ("max_chiplets", "min_port_bandwidth", "max_area")
        refuse_given(*names, message="must be given with --search, not alone")
    process = _process(defect_density, clustering, wafer_price, test_price, bond_yield)
    wafer_file = None if path is None else str(path)
    wafer = _wafer(wafer_file)
    densities = tuple(dict.fromkeys(densities)) or IO_GB_PER_S_PER_MM
    parsed, faults, spared = _faults(wafer, wafer_file, strategy, collectives)
    rates = npu_bandwidth * 1e9, io_bandwidth * 1e9
    model = CostModel(wafer, *rates, process, 1.0 if bond_yield is None else bond_yield, spared)
    with checked("--density"):
        kinds = [*model.kind_rows(densities)]
        totals = [*model.density_rows(densities)]
    wires = [*model.wiring_rows(densities[0])]
    found = None
    if search:
        bounds = max_chiplets or totals[0].chiplets, min_port_bandwidth, max_area
        with checked("--search", spec=wafer_file or ""):
            found = _searched(model, densities[0], *bounds, parsed)
    KINDS.write(kinds, csv_file)
    tables = {"chiplets": kinds, "densities": totals, "wiring": wires, "faults": faults}
    if as_json:
        _print_json(model, tables, found)
    else:
        _say(model, tables, found, strategy)


def _process(
    defects: float | None,
    clustering: float | None,
    wafer_price: float | None,
    test_price: float | None,
    bond_yield: float | None,
) -> "Process | None":
    """Return the user's assumptions; None without any. Fail if one needs another."""
    from perfmodel.wafer_cost.yields import Process

    needs = {
        "--clustering": (clustering, "--defect-density", defects),
        "--defect-density": (defects, "--clustering", clustering),
        "--wafer-price": (wafer_price, "--defect-density", defects),
        "--test-price": (test_price, "--wafer-price", wafer_price),
        "--bond-yield": (bond_yield, "--wafer-price", wafer_price),
    }
    for name, (given, other, value) in needs.items():
        if given is not None and value is None:
            raise InputError("cost", name, f"must be given with {other}, not alone")
    if defects is None or clustering is None:
        return None
    return Process(defects, clustering, wafer_price or 0.0, test_price or 0.0)


def _wafer(file: str | None) -> "WaferSpec":
    from fred_hw.file_kinds import WAFER
    from fred_hw.wafer.load import load_wafer
    from perfmodel.wafer_cost.chiplets import published_wafer

    return published_wafer() if file is None else read_spec(file, (), load_wafer, WAFER)


def _faults(
    wafer: "WaferSpec", file: str | None, text: str | None, collectives: str | None
) -> "tuple[Strategy | None, tuple[FaultRow, ...], int]":
    """Return a strategy, its single faults, and how many broken chiplets a plane survives."""
    from fred_hw.compiler.placement import Strategy
    from fred_hw.wafer.program import COLLECTIVES
    from perfmodel.wafer_cost.report import fault_rows

    if text is None:
        return None, (), 0
    with checked("--strategy", spec=file or ""):
        strategy = Strategy.parse(text)
        return strategy, *fault_rows(wafer, strategy, collectives or COLLECTIVES[0])


def _searched(
    model: "CostModel",
    density: float,
    most_chiplets: int,
    least_gb_per_s: float | None,
    most_mm2: float | None,
    strategy: "Strategy | None",
) -> "list[SearchRow]":
    """Return the best wafers; without a bound, ports are those of up to 64 planes."""
    from perfmodel.wafer_cost.search import FIELD_MM2

    least = model.npu_bytes_per_s / 64 if least_gb_per_s is None else least_gb_per_s * 1e9
    rows = model.search_rows(
        density,
        most_chiplets=most_chiplets,
        least_port_bytes_per_s=least,
        largest_mm2=most_mm2 or FIELD_MM2,
        strategy=strategy,
    )
    return [*rows]


def _print_json(model: "CostModel", tables: dict[str, Sequence[Any]], found: Any) -> None:
    said = {name: plain(rows) for name, rows in tables.items()}
    bonded = model.bonded_yield if model.process else None
    print_json({**said, "search": plain(found), "bonded_yield": bonded})


def _say(
    model: "CostModel",
    tables: dict[str, Sequence[Any]],
    found: Sequence[Any] | None,
    strategy: str | None,
) -> None:
    """Print the tables, without columns that have no figures."""
    from fred_cli.columns.cost import DENSITIES, FAULTS, KINDS, SEARCH, WIRING

    totals: Sequence[DensityRow] = tables["densities"]
    first = totals[0].gb_per_s_per_mm
    kinds = [one for one in tables["chiplets"] if one.gb_per_s_per_mm == first]
    known = _known(KINDS, kinds)
    known.print(f"Switch chiplets at {first:g} GB/s/mm; figures of one chiplet", kinds)
    _known(DENSITIES, totals).print("All switch chiplets of the wafer", totals)
    WIRING.print(f"Links, with their edge at {first:g} GB/s/mm", tables["wiring"])
    if strategy is not None:
        title = f"Single faults of one of {model.wafer.planes} planes, with strategy {strategy}"
        FAULTS.print(title, tables["faults"])
    if found is not None:
        goal = "price" if model.process and model.process.wafer_price else "area"
        title = f"Wafers of least {goal} by number of L1 switches, at {first:g} GB/s/mm"
        _known(SEARCH, found).print(title, found)
    for line in _assumptions(model):
        print(line)


def _known(columns: Any, rows: Sequence[Any]) -> Any:
    """Return the columns that have a figure in any row."""
    empty = [one.csv for one in columns.titled if all(one.value(row) is None for row in rows)]
    return columns.without(*empty)


def _assumptions(model: "CostModel") -> list[str]:
    """Return what the figures rest on."""
    said = ["power: scaled from the published 179.35 W by the bandwidth of ports"]
    if (process := model.process) is None:
        return said
    said.append(
        f"assumed by you: {process.defects_per_cm2:g} defects per cm2, clustering "
        f"{process.clustering:g} (negative binomial)"
    )
    if process.wafer_price:
        said[-1] += (
            f", {process.wafer_price:,g} per wafer, {process.test_price:,g} per test, "
            f"bond yield {model.bond_yield:g}"
        )
        said.append(
            f"{100 * model.bonded_yield:.2f} % of assembled wafers are good; single broken "
            f"chiplets that a plane survives: {model.spared}"
        )
    return said
