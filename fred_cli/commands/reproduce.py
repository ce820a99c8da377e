"""`fred reproduce`."""

from pathlib import Path
from typing import Any

import click

from fred_cli.columns.reproduce import columns_of
from fred_cli.options import ListingOption, as_json_option, csv_option, protocol_option
from fred_cli.output import progress, say_json
from fred_hw.errors import InputError

__all__ = ["command"]


def _sections() -> str:
    from perfmodel.studies.reproduce import SECTIONS

    return f"{', '.join(SECTIONS)}; all if none."


@click.command("reproduce")
@click.option("--section", "sections", multiple=True, cls=ListingOption, listing=_sections)
@protocol_option
@csv_option
@as_json_option
def command(sections: tuple[str, ...], protocol: Any, csv_file: Path | None, as_json: bool) -> None:
    """Put every published figure beside ours, and say how far the protocol moved it."""
    from perfmodel.studies.reproduce import reproduce as run
    from perfmodel.studies.reproduce import reproduce_both
    from perfmodel.studies.section import SECTIONS

    for name in sections:
        if name not in SECTIONS:
            allowed = ", ".join(SECTIONS)
            raise InputError("--section", "", f"must be one of {allowed}, not {name!r}")
    moved = protocol != "ideal"
    with progress("reproducing published figures"):
        rows = reproduce_both(sections or None) if moved else tuple(run(sections or None, "ideal"))
    columns = columns_of(moved=moved)
    columns.write(rows, csv_file)
    good = sum(row.ok for row in rows)
    if as_json:
        figures = [columns.json(row, row) for row in rows]
        say_json({"rows": figures, "within_tolerance": good, "rows_in_all": len(rows)})
        return
    columns.print(f"Published figures and ours, protocol {protocol or 'measured'}", rows)
    print(f"{good} of {len(rows)} within tolerance; docs/fidelity.md explains the others")
