"""Options of commands that map hardware to a cell library."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from .names import names_in
from .options import ListingOption, NameChoice, NameOrFile

__all__ = ["effort_option", "liberty_option", "read_cells", "sizing_option"]

effort_option = click.option(
    "--effort",
    type=NameChoice(names_in("synth.mapping", "EFFORTS")),
    default="speed",
    show_default=True,
    help="Smallest area; shortest clock period by choice of buffers and cell sizes; or the "
    "smallest area that reaches the requested clock.",
)

sizing_option = click.option(
    "--sizing/--no-sizing",
    default=True,
    show_default=True,
    help="With efforts speed and clock, size the whole design after its modules; needs OpenSTA.",
)


class _LibraryFile(NameOrFile):
    """Parameter type: the name of an installed cell library, or a library file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from synth.installed import library_path

        if ctx and ctx.resilient_parsing:  # a shell completes the command line
            return Path(value)
        return library_path(str(value))


_library_names = names_in("synth.installed", "INSTALLED")


def _libraries_listing() -> str:
    names = ", ".join(_library_names())
    return f"Cell library: {names}, or a file, as text or gzip; may be given several times."


def liberty_option(*, required: bool = False) -> Callable[..., Any]:
    """Return the option that selects cell libraries."""
    return click.option(
        "--liberty",
        cls=ListingOption,
        multiple=True,
        required=required,
        type=_LibraryFile(_library_names),
        metavar="LIBRARY",
        listing=_libraries_listing,
    )


def read_cells(liberty: Sequence[Path]) -> Any:
    """Return the cell libraries named on the command line; fail without the synthesis tool."""
    from synth.liberty import read_libraries
    from synth.mapping import find_yosys

    find_yosys()
    return read_libraries(liberty)
