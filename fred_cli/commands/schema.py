"""Command `fred schema`."""

from pathlib import Path

import click

from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.options import NameChoice, OutputPath, as_json_option
from fred_cli.output import print_json, table, write_json

__all__ = ["command"]


@click.command("schema", cls=Command, example="fred schema topology")
@click.argument(
    "kind", required=False, type=NameChoice(names_in("fred_cli.schemas.file_kind", "FILES"))
)
@click.option(
    "-o", "--output", type=OutputPath(), metavar="FILE", help="Write the schema to a file."
)
@as_json_option
def command(kind: str | None, output: Path | None, as_json: bool) -> None:
    """Print the JSON Schema of a kind of YAML files, for editors; list the kinds without KIND."""
    from fred_cli.schemas.file_kind import FILES

    if kind is None:
        if output:
            raise click.UsageError("KIND: must be given with --output, not left out")
        rows = [(name, one.summary) for name, one in FILES.items()]
        if as_json:
            print_json({"kinds": [{"kind": name, "for": text} for name, text in rows]})
        else:
            table("Kinds of files", ("kind", "what"), rows)
    elif output:
        write_json(FILES[kind].schema(), output)
        if as_json:
            print_json({"files": [output]})
    else:
        print_json(FILES[kind].schema())
