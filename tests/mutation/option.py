"""The option of both samplers for the file of the results."""

from argparse import ArgumentTypeError
from pathlib import Path

import click

from testbench.evidence.record_file import record_file

__all__ = ["record_option"]


def _checked(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    """Return the file; fail before hours of work if it cannot be written."""
    try:
        return record_file(value) if value else None
    except ArgumentTypeError as error:
        raise click.BadParameter(str(error)) from error


record_option = click.option("--record", callback=_checked, help="File for the results.")
