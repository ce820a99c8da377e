"""The command `fred`: options in, one JSON object or a table out, one line on bad input."""

import sys

import click

from fred_hw.errors import InputError

from . import hardware, simulation, training, wafer

__all__ = ["cli", "main"]


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,  # no command is bad input, of one line
)
@click.version_option(package_name="fred-hw")
def cli() -> None:
    """FRED switches: from a description to Verilog, co-simulation and wafer-level estimates."""


for _command in (*hardware.COMMANDS, *simulation.COMMANDS, *wafer.COMMANDS, *training.COMMANDS):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; bad input ends in one line and exit status 2."""
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
