"""Command `fred examples`."""

import ast
import re
from itertools import takewhile
from pathlib import Path

import click

from fred_cli.command import Group
from fred_cli.names import Named
from fred_cli.options import OutputPath, as_json_option
from fred_cli.output import print_json, table
from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError

__all__ = ["FOLDER", "command"]

FOLDER = Path(__file__).parents[1] / "examples"
"""Folder of the example files, which are part of the package."""


@click.group("examples", cls=Group, no_args_is_help=False)
def command() -> None:
    """List and copy the example files; every command here takes --json."""


@command.command("list", example="fred examples list")
@as_json_option
def list_(as_json: bool) -> None:
    """List the files, each with the first sentence of its comment."""
    rows = [(name, _summary(path)) for name, path in _files().items()]
    if as_json:
        print_json({"examples": [{"file": file, "for": summary} for file, summary in rows]})
        return
    table("Examples", ("file", "for"), rows)


@command.command("copy", example="fred examples copy -o examples")
@click.argument("names", nargs=-1, metavar="[FILE]...", type=Named(lambda _: _files()))
@click.option(
    "-o",
    "--output",
    "folder",
    default="examples",
    show_default=True,
    type=OutputPath(folder=True),
    help="Folder to write to.",
)
@as_json_option
def copy(names: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Copy FILEs, or all example files; existing files are not overwritten."""
    from gen.write import check_folder, write_outputs

    known = _files()
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            message = f"must be a file that 'fred examples list' lists, not {name!r:.60}{hint}"
            raise InputError("FILE", "", message)
    check_folder(folder)
    chosen = {folder / name: known[name].read_bytes() for name in names or known}
    for path in chosen:
        if path.exists():
            raise InputError(str(path), "", "must be a new file, not one that exists")
    write_outputs(chosen)
    if as_json:
        print_json({"files": list(chosen)})
        return
    print(f"{len(chosen)} files in {folder}")


def _files() -> dict[str, Path]:
    """Return all files by name, sorted."""
    found = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return {str(path.relative_to(FOLDER)): path for path in found if path.suffix != ".pyc"}


def _summary(path: Path) -> str:
    """Return the first sentence of the comment at the start of a file; empty if there is none."""
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(path.read_text())) or ""
    if path.suffix not in (".yaml", ".yml", ".sh"):
        return ""
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#!"))
    comment = " ".join(line.lstrip("# ") for line in takewhile(lambda one: one[:1] == "#", lines))
    return re.split(r"(?<=[.?:])\s", comment, maxsplit=1)[0].rstrip(":")
