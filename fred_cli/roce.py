"""Options of congestion control, which commands with a network model share."""

from pathlib import Path
from typing import Any

import click

from .names import names_in
from .options import InputPath, NameChoice, refuse_given

__all__ = ["read_roce", "roce_options", "with_roce"]


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


def read_roce(network_model: str, cc: str | None, roce: Path | None) -> Any:
    """Return the parameters of network model roce, or None for another model."""
    if network_model != "roce":
        message = f"must be left out with network model {network_model}"
        refuse_given("cc", "roce", message=message)
        return None
    from perfmodel.network.roce.files import load_parameters
    from perfmodel.network.roce.parameters import RoceFile

    given = load_parameters(roce) if roce else RoceFile()
    return given.changed(congestion_control=cc)


def with_roce(topology: Any, parameters: Any) -> Any:
    """Return a topology with the parameters of the network model roce, if any are given."""
    return topology if parameters is None else topology.with_network_options("roce", parameters)
