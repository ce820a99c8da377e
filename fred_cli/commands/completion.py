"""Command `fred completion`."""

import click
from click.shell_completion import get_completion_class

from fred_cli.command import Command
from fred_cli.options import as_json_option
from fred_cli.output import print_json

__all__ = ["command"]

VARIABLE = "_FRED_COMPLETE"
"""Environment variable by which a shell asks click for completions of ``fred``."""


@click.command("completion", cls=Command, example="fred completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@as_json_option
@click.pass_context
def command(context: click.Context, shell: str, as_json: bool) -> None:
    """Print a shell-completion script for commands, options and names."""
    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root()
    script = kind(root.command, {}, "fred", VARIABLE).source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        print(script)
