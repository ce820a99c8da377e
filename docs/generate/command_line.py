"""Reference of the command line: the help of every command, with its example."""

from collections.abc import Iterator

import click

from fred_cli.cli import cli

__all__ = ["command_line"]

_WIDTH = 100

_HEAD = """# Command line

<!-- Written by: python -m docs.generate -->

This page has the help of every command, as `--help` prints it. [Commands](../how-to/commands.md)
explains what all commands have in common, and [Names](names.md) lists what their options select.
"""


def command_line() -> str:
    """Return the page with the help of all commands."""
    sections = [f"## fred {words}\n\n```text\n{text}\n```\n" for words, text in _helps(cli, "fred")]
    return "\n".join([_HEAD, *sections])


def _helps(
    group: click.Group, above: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the words of each command behind ``fred``, and its help."""
    context = click.Context(group, info_name=above, parent=parent, max_content_width=_WIDTH)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _helps(command, name, context)
        elif command is not None:
            own = click.Context(command, info_name=name, parent=context, max_content_width=_WIDTH)
            own.terminal_width = _WIDTH
            yield own.command_path.removeprefix("fred "), command.get_help(own)
