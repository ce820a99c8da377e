"""Command `fred doctor`."""

import click

from fred_cli.command import Command
from fred_cli.options import as_json_option
from fred_cli.output import print_json, table

__all__ = ["command"]


@click.command("doctor", cls=Command, example="fred doctor")
@as_json_option
def command(as_json: bool) -> None:
    """List installed parts with versions, and what each missing part would enable."""
    from fred_cli.installation import parts

    found = parts()
    missing = [part for part in found if part.version is None]
    if as_json:
        print_json({"parts": found, "missing": [part.name for part in missing]})
        return
    table(
        "Installed",
        ("part", "kind", "version", "enables"),
        [
            (part.name, part.kind, part.version or "unknown", part.enables)
            for part in found
            if part.version is not None
        ],
    )
    if missing:
        table(
            "Missing",
            ("part", "kind", "would enable", "from"),
            [(part.name, part.kind, part.enables, part.install) for part in missing],
        )
