"""All commands of `fred`, with those of groups, for tests that hold of each."""

from collections.abc import Iterator

import click

from fred_cli.cli import cli

__all__ = ["commands"]


def commands(
    group: click.Group = cli, parent: click.Context | None = None
) -> Iterator[tuple[str, click.Context]]:
    """Yield each command's words, without `fred`, and a context of it."""
    context = parent or click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, parent=context, info_name=name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {words}", one) for words, one in commands(command, below))
        else:
            yield name, below
