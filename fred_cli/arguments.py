"""Arguments that commands of the switch share."""

from typing import Any

import click

__all__ = ["level_option", "read_spec", "seed_option", "set_option", "spec_argument"]

spec_argument = click.argument("spec_source", metavar="SPEC")
set_option = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a field of SPEC."
)
seed_option = click.option("--seed", type=int, help="Seed of all stimulus; random by default.")

level_option = click.option(
    "--level",
    type=click.Choice(["interconnect", "switch"]),
    default="interconnect",
    show_default=True,
    help="The interconnect alone, or the whole switch around it.",
)


def read_spec(source: str, changes: tuple[str, ...]) -> Any:
    """Return the specification named on the command line, with its ``--set`` changes."""
    from fred_hw.load import load_spec, parse_change

    return load_spec(source, dict(parse_change(change) for change in changes))
