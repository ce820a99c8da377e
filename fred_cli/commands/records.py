"""Command `fred records`."""

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from fred_cli.command import Group
from fred_cli.cosimulation import load_testbench, simulating
from fred_cli.names import Named, names_in
from fred_cli.options import as_json_option
from fred_cli.output import print_json, table
from fred_cli.progress import progress
from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.progress import track

__all__ = ["command"]


@click.group("records", cls=Group, no_args_is_help=False)
def command() -> None:
    """List, check and measure the built-in records.

    The performance model takes the timing of hardware from them. A record holds a hash of the
    Verilog that was measured, which does not depend on names. Every command here takes --json.
    """


names_argument = click.argument(
    "names",
    metavar="[NAME]...",
    nargs=-1,
    type=Named(names_in("fred_cli.records.registry", "ENTRIES")),
)


@command.command("list", example="fred records list")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also show the command that measures each record, and the inputs that make it stale.",
)
@as_json_option
def list_records(verbose: bool, as_json: bool) -> None:
    """List the records: what each measures, and the processor minutes of a measurement."""
    from fred_cli.records.registry import ENTRIES
    from fred_cli.records.state import summary

    found = [summary(name, entry) for name, entry in ENTRIES.items()]
    if as_json:
        print_json({"records": found})
        return
    if verbose:
        rows = [(one.record, one.command, ", ".join(one.stale_with)) for one in found]
        table("Records", ("record", "measured by", "stale if one of these changes"), rows)
        return
    rows = [
        (
            *(one.record, one.measures, f"{one.minutes:g}", one.by),
            *(one.date or "unknown", (one.git_commit or "unknown")[:12]),
        )
        for one in found
    ]
    table("Records", ("record", "measures", "minutes", "by", "date", "revision"), rows)


@command.command("check", example="fred records check endpoint")
@names_argument
@as_json_option
def check_records(names: tuple[str, ...], as_json: bool) -> None:
    """Report which records are stale and why; all without NAME. Exit status 1 if any is stale.

    A record is stale if its design or its inputs have changed. Designs are generated and hashed
    only where the sources that generate have changed since the last time.
    """
    from fred_cli.records.registry import ENTRIES
    from fred_cli.records.state import STALE, check

    load_testbench("icarus")
    from testbench.designs import CANONICAL
    from testbench.sim.cache import BUILDS

    asked, begun = _asked(names) or list(ENTRIES), len(BUILDS)
    with progress("checking records"):
        states = [check(name, ENTRIES[name]) for name in track(asked, "records")]
    generated = sum(one.name == CANONICAL for one in BUILDS[begun:])
    if as_json:
        print_json({"records": states, "designs_generated": generated})
    else:
        rows = [(one.name, one.state, "; ".join((*one.why, *one.notes))) for one in states]
        table("Records", ("record", "state", "why"), rows)
        print(
            f"{generated} designs generated, the hashes of the others were known by their sources"
        )
    sys.exit(int(any(one.state == STALE for one in states)))


@command.command("update", example="fred records update endpoint")
@names_argument
@click.option("--stale", is_flag=True, help="Measure all stale records.")
@click.option(
    "--changed",
    is_flag=True,
    help="Keep rows whose hardware and inputs are unchanged, and measure the others: of "
    "networks-fp16x1.",
)
@as_json_option
def update_records(names: tuple[str, ...], stale: bool, changed: bool, as_json: bool) -> None:
    """Measure records again, and replace each file once its measurement is complete."""
    from fred_cli.records.registry import ENTRIES
    from fred_cli.records.state import STALE, check, record_path, remeasure, summary
    from gen.write import check_file

    asked = _asked(names)
    if bool(asked) == stale:
        raise click.UsageError("NAME: must be given, or --stale, and not both")
    load_testbench("icarus")
    if stale:
        with progress("checking records"):
            states = [check(name, entry) for name, entry in ENTRIES.items()]
        asked = [one.name for one in states if one.state == STALE]
    for name in asked:
        check_file(record_path(name, ENTRIES[name]))
    for name in asked:
        work = Path("build") / "records" / name
        minutes = summary(name, ENTRIES[name]).minutes
        with simulating(), progress(f"measuring {name}, about {minutes:g} processor minutes"):
            remeasure(name, ENTRIES[name], work, _say, changed=changed)
        if not as_json:
            print(f"{name}: {record_path(name, ENTRIES[name])}")
    if as_json:
        print_json({"updated": asked})


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _asked(names: Iterable[str]) -> list[str]:
    """Return names without duplicates.

    Raises
    ------
    InputError
        There is no such record.
    """
    from fred_cli.records.registry import ENTRIES

    for name in names:
        if name not in ENTRIES:
            raise InputError("NAME", "", not_one_of(name, ENTRIES, listed_by="fred records list"))
    return list(dict.fromkeys(names))
