"""The command group `fred`: each command prints a table, or one JSON object."""

from importlib import import_module
from pkgutil import iter_modules

import click

from fred_hw.choices import did_you_mean

from . import commands

__all__ = ["cli"]


_START = """\
FRED switches, from a description to Verilog, co-simulation and estimates of a wafer. To begin:

  fred examples copy                             copy the example files to ./examples
  fred gen small-4 -o small-4                    write the Verilog of a switch with four ports
  fred sim small-4 --sim icarus                  simulate it and compare it with the golden model
  fred collective --topology fred-d --size 1GiB  time an all-reduce over the published wafer
  fred compare --topology mesh:5x4 --topology fred-d --workload transformer-17b
                                                 compare two fabrics in training

fred --help lists all commands."""


_REPLACED = {"sweep": "; 'fred study run' replaces it"}
"""What took the place of commands of earlier versions."""


class _Commands(click.Group):
    """Commands found in the folder ``commands``; each is imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        modules = iter_modules(commands.__path__)
        return sorted(module.name.replace("_", "-") for module in modules)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            suggestion = _REPLACED.get(args[0]) or did_you_mean(args[0], known)
            suggestion = suggestion or "; 'fred --help' lists the commands"
            raise click.UsageError(f"no such command {args[0]!r}{suggestion}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}").command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(package_name="fred-hw")
@click.pass_context
def cli(context: click.Context) -> None:
    """FRED switches: from a description to Verilog, co-simulation and wafer-level estimates."""
    if context.invoked_subcommand is None:
        click.echo(_START)
