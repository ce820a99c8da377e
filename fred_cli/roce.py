"""Options of congestion control, shared by commands with a network model."""

from pathlib import Path
from typing import Any

import click

from .names import names_in
from .options import InputPath, NameChoice, OutputPath, refuse_given

__all__ = ["congestion_chart_option", "read_roce", "roce_options", "with_roce"]

congestion_chart_option = click.option(
    "--congestion-chart",
    type=OutputPath(),
    metavar="FILE.svg",
    help="With network model roce: draw queues, paused links and rates over time.",
)


def roce_options(command: Any) -> Any:
    """Add the options of network model roce."""
    command = click.option(
        "--roce",
        type=InputPath(),
        metavar="FILE",
        help="Parameters of network model roce: YAML, or an ns-3 configuration (.txt).",
    )(command)
    return click.option(
        "--cc",
        type=NameChoice(names_in("perfmodel.network.roce.parameters", "SCHEMES")),
        help="Congestion control of network model roce.  [default: that of --roce, or pfc]",
    )(command)


def read_roce(network_model: str, cc: str | None, roce: Path | None, *others: str) -> Any:
    """Return the parameters of network model roce, or None for another model.

    Parameters
    ----------
    network_model, cc, roce : str, str or None, Path or None
        Values of these options.
    others : str
        Parameters of the command that are for network model roce too.

    Raises
    ------
    InputError
        The model is another one, and an option of network model roce is given.
    """
    if network_model != "roce":
        message = f"must be left out with network model {network_model}"
        refuse_given("cc", "roce", *others, message=message)
        return None
    from perfmodel.network.roce.files import load_parameters
    from perfmodel.network.roce.parameters import RoceFile

    given = load_parameters(roce) if roce else RoceFile()
    return given.changed(congestion_control=cc)


def with_roce(topology: Any, parameters: Any) -> Any:
    """Return a topology with parameters of network model roce, if any are given."""
    return topology if parameters is None else topology.with_network_options("roce", parameters)
