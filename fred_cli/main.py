"""The command `fred`: options in, one JSON object or a table out, one line on bad input."""

import gc
import sys
import warnings
from importlib import import_module
from pkgutil import iter_modules

import click

from fred_hw.errors import InputError

from . import commands

__all__ = ["cli", "main"]


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


def main() -> None:
    """Run the command line; bad input ends in one line and exit status 2."""
    # Commands keep what they make, or drop it without cycles: to look for those every 700 objects
    # takes a quarter of the time of `fred reproduce` and frees nothing.
    gc.set_threshold(50_000, 20, 50)
    # Amaranth says so of hardware that an error or an interrupt leaves unfinished.
    warnings.filterwarnings("ignore", message=".* created but never used")
    try:
        status = cli.main(prog_name="fred", standalone_mode=False)
    except InputError as error:
        sys.exit(_refused(str(error)))
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fred"
        sys.exit(_refused(f"{command}: {error.format_message()}"))
    except click.ClickException as error:
        sys.exit(_refused(error.format_message()))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        # Files that no room below checks itself, in a work folder for example.
        if error.filename is None:
            raise
        sys.exit(_refused(f"{error.filename}: must be usable, not with: {error.strerror}"))
    sys.exit(status if isinstance(status, int) else 0)


def _refused(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return 2
