"""`--network-model loggops` of `fred estimate`: schedules without a topology."""

import click

from fred_cli.output import option_names, print_json
from fred_cli.progress import progress
from fred_cli.run_figures import print_figures, print_ranks
from fred_cli.traces import given_names
from fred_hw.choices import not_one_of
from fred_hw.errors import InputError

__all__ = ["check_loggops", "estimate_schedule"]

_TAKES = ("workload", "network_model", "loggops", "control", "as_json")


def check_loggops(context: click.Context) -> bool:
    """Return whether the LogGOPS model is requested.

    Raises
    ------
    click.UsageError
        Options do not go together, or one is missing.
    """
    given = given_names(context)
    if context.params["network_model"] != "loggops":
        if "loggops" in given:
            raise click.UsageError("--loggops: must be left out without --network-model loggops")
        return False
    for name in given:
        if name not in _TAKES:
            option = next(one.opts[-1] for one in context.command.params if one.name == name)
            raise click.UsageError(f"{option}: must be left out with network model loggops")
    for name in ("workload", "loggops"):
        if name not in given:
            raise click.UsageError(f"--{name}: must be given with network model loggops")
    return True


def estimate_schedule(
    workload: str, changes: tuple[str, ...], control: bool, as_json: bool
) -> None:
    """Print the time of each rank of a schedule by activity."""
    from tracemodel.api import LogGops, read_schedule
    from tracemodel.api import estimate_schedule as estimate
    from tracemodel.names import PARAMETERS

    model = LogGops(**_parameters(changes))
    with option_names("workload"), progress("running a schedule"):
        found = estimate(read_schedule(workload, control=control), model, workload)
    if as_json:
        print_json(found)
        return
    print_ranks("LogGOPS; ns", found.ranks)
    shown = ", ".join(f"{key} {getattr(model, name):g}" for key, name in PARAMETERS.items())
    print(f"  {workload}: {shown}")
    print_figures(found)


def _parameters(changes: tuple[str, ...]) -> dict[str, float]:
    """Return the model parameters given on the command line."""
    from math import isfinite

    from fred_hw.load import parse_change
    from tracemodel.names import PARAMETERS

    found: dict[str, float] = {}
    for change in changes:
        key, value = parse_change(change, "--loggops")
        if key not in PARAMETERS:
            raise InputError("--loggops", "", not_one_of(key, PARAMETERS))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not isfinite(value) or not 0 <= value <= 1e15:
            raise InputError(
                "--loggops", key, f"must be a number from 0 to 1e15, not {value!r:.60}"
            )
        found[PARAMETERS[key]] = value
    if "L_ns" not in found:
        raise InputError("--loggops", "L", "is required and was not given")
    return found
