"""The option of both samplers for the file of the results."""

from pathlib import Path

import click

__all__ = ["record_option"]


def _writable(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """Return a path; fail before hours of work if its folder does not exist."""
    if value and not value.parent.is_dir():
        raise click.BadParameter(f"must be a file in a folder that exists, not {str(value)!r}")
    return value


record_option = click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_writable,
    help="File for the results.",
)
