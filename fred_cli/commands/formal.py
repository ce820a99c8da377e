"""Command `fred formal`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fred_cli.command import Command
from fred_cli.names import Named, names_in
from fred_cli.numbers import IntegerFrom
from fred_cli.options import OutputPath, as_json_option, refuse_given
from fred_cli.output import print_json, table, write_json
from fred_cli.progress import progress

if TYPE_CHECKING:
    from testbench.formal.property import Property
    from testbench.formal.verdict import Verdict

__all__ = ["command"]

_FOLDER = Path("build/formal")
"""Where the files for the solver are kept."""

_property_name = Named(names_in("testbench.formal.property", "PROPERTIES"))


@click.command("formal", cls=Command, example="fred formal fifo-keeps-order")
@click.argument("names", nargs=-1, metavar="[NAME]...", type=_property_name)
@click.option("--list", "lists", is_flag=True, help="Only list the properties.")
@click.option("--fast", is_flag=True, help="Prove only the properties of the regular tests.")
@click.option(
    "--seconds",
    type=IntegerFrom(1, 86400),
    default=600,
    show_default=True,
    help="Time limit of each search [s].",
)
@click.option(
    "-o", "--output", "path", type=OutputPath(), help="File for the results, as --json prints them."
)
@as_json_option
def command(
    names: tuple[str, ...], lists: bool, fast: bool, seconds: int, path: Path | None, as_json: bool
) -> int:
    """Prove the properties of the hardware, or those of each NAME.

    A property fails unless it holds, is refuted for its mutant, and its covers are reached. Exit
    status 1 means that a property failed. Files for the solver are kept in build/formal.
    """
    from fred_hw.choices import not_one_of
    from fred_hw.errors import InputError
    from gen.write import check_folder
    from testbench.formal.netlist import FormalError
    from testbench.formal.property import PROPERTIES
    from testbench.formal.verdict import tools, verify

    for name in names:
        if name not in PROPERTIES:
            raise InputError(
                "NAME", "", not_one_of(name, PROPERTIES, listed_by="fred formal --list")
            )
    if names:
        refuse_given("fast", message="must be given without NAME")
    chosen = [*dict.fromkeys(names)]
    chosen = chosen or [name for name, one in PROPERTIES.items() if one.fast or not fast]
    if lists:
        refuse_given("path", message="must be given without --list")
        _list([PROPERTIES[name] for name in chosen], as_json)
        return 0
    check_folder(_FOLDER)
    found: list[Verdict] = []
    try:
        versions = tools()
        for number, name in enumerate(chosen, 1):
            with progress(f"{name}, {number} of {len(chosen)}"):
                found.append(verify(PROPERTIES[name], _FOLDER / name, seconds=seconds))
    except FormalError as error:
        raise InputError("formal", "", str(error)) from None
    failed = [one.name for one in found if not one.passed]
    result = {"tools": versions, "properties": found, "failed": failed}
    if path:
        write_json(result, path)
    if as_json:
        print_json(result)
    else:
        _print(found, versions)
        print(f"failed: {', '.join(failed)}" if failed else f"passed: {len(found)} of {len(found)}")
    return int(bool(failed))


def _list(chosen: Sequence["Property"], as_json: bool) -> None:
    """Print what properties show, without proving them."""
    if as_json:
        print_json({"properties": {one.name: one.shows for one in chosen}})
    else:
        table("Properties", ("property", "shows"), [(one.name, one.shows) for one in chosen])


def _print(found: Sequence[Any], versions: dict[str, str]) -> None:
    """Print a row for each property, and the counterexample of each that does not hold."""
    rows = [
        (
            one.name,
            one.unit,
            one.result,
            one.depth,
            "not refuted" if one.killed_after is None else f"refuted in {one.killed_after}",
            ", ".join(f"{k}: {'never' if v is None else v}" for k, v in one.covers.items()),
            f"{one.seconds:.1f}",
        )
        for one in found
    ]
    title = ", ".join(f"{name} {version}" for name, version in versions.items())
    columns = ("property", "unit", "result", "method", "mutant", "covers (cycles)", "CPU [s]")
    table(title, columns, rows)
    for one in found:
        if one.trace:
            _print_trace(one)


def _print_trace(one: Any) -> None:
    """Print the ports of a counterexample in each cycle, in hexadecimal digits."""
    cycles = range(len(one.trace))
    rows = [
        (port, *(f"{cycle[port]:x}" for cycle in one.trace))
        for port in one.trace[0]
        if port != "clk" and not port.startswith("bad_")
    ]
    print(f"{one.name}: counterexample of {', '.join(one.failed)}")
    table("Ports in each cycle", ("port", *map(str, cycles)), rows)
