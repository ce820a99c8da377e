"""The command `fred`: options in, one JSON object or a table out."""

from importlib import import_module
from pkgutil import iter_modules

import click

from . import commands

__all__ = ["cli"]


class _Commands(click.Group):
    """The commands in the folder of that name, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name for module in iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return import_module(f"{commands.__name__}.{cmd_name}").command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,  # no command is bad input, of one line
)
@click.version_option(package_name="fred-hw")
def cli() -> None:
    """FRED switches: from a description to Verilog, co-simulation and wafer-level estimates."""
