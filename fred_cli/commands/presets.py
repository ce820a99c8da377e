"""Command `fred presets`."""

import click

from fred_cli.command import Command
from fred_cli.options import as_json_option
from fred_cli.output import print_json, table

__all__ = ["command"]


@click.command("presets", cls=Command, example="fred presets")
@as_json_option
def command(as_json: bool) -> None:
    """List the built-in specifications."""
    from fred_hw.load import PRESETS, load_spec, preset_summary

    rows = [(name, load_spec(name).name, preset_summary(name)) for name in PRESETS]
    if as_json:
        print_json(
            {"presets": [dict(zip(("preset", "name", "for"), r, strict=True)) for r in rows]}
        )
        return
    table("Presets", ("preset", "name", "for"), rows)
