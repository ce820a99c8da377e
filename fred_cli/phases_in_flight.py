"""`fred check-deadlock` for the phases of a strategy."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fred_hw.errors import InputError

from .options import read_spec
from .output import checked, print_json
from .progress import progress
from .waits import cycle_words, print_waits, verdict, waits_of

if TYPE_CHECKING:
    from fred_hw.phase_waits import PhaseFlow

__all__ = ["check_phases"]


def check_phases(
    source: str, changes: tuple[str, ...], strategy: str, unicasts: bool, as_json: bool
) -> int:
    """Print the waits of phases that are in flight together, and return the exit status.

    Parameters
    ----------
    source, changes, strategy, unicasts, as_json
        As given on the command line; the source is a mesh.
    """
    from fred_cli.name_kinds import check_name
    from fred_hw.compiler.placement import Strategy
    from fred_hw.files import read_data
    from fred_hw.mesh.load import is_mesh
    from fred_hw.mesh.reducing.phases import phases_on_trees
    from fred_hw.mesh.reducing.plan import ReducingMesh
    from fred_hw.mesh.reducing.spec import load_reducing_mesh
    from fred_hw.phase_waits import phase_graph, successive_sets, unicasts_of

    check_name(source, "a mesh specification")
    if not is_mesh(source):
        read_data(Path(source))  # a missing file is named first
        raise InputError("--strategy", "", f"must be given with a mesh, not {source}")
    plan = ReducingMesh(read_spec(source, changes, load_reducing_mesh))
    with checked("--strategy"):
        flows, without = phases_on_trees(plan, Strategy.parse(strategy))
    channels = sorted({one.circuit for one in flows}) if unicasts else []
    others = [unicasts_of(plan, end, one) for one in channels for end in range(plan.addresses)]
    with progress(f"collecting waits of {strategy}"):
        graph = phase_graph([*flows, *others])
        steps = cycle_words(plan, graph.cycle())
        sets = successive_sets(flows) if steps else [flows]
    name = f"{strategy} on {plan.mesh.name}"
    if as_json:
        said: dict[str, Any] = {"name": name, "unicasts": unicasts, "without_trees": without}
        said |= {"waits": waits_of(graph), "cycle": steps, "sets": [*map(_phases, sets)]}
        print_json(said)
    else:
        print_waits(strategy, graph)
        print(verdict(steps, "packet or descriptor of these phases"))
        if steps:
            print("successive sets without a cycle, if unicasts are on other virtual channels:")
            print("\n".join(f"  {n}: {_text(own)}" for n, own in enumerate(sets, 1)))
        if without:
            print(f"left out, without trees that share no link: {', '.join(without)}")
    return int(bool(steps))


def _phases(flows: "Sequence[PhaseFlow]") -> dict[str, list[dict[str, list[int]]]]:
    """Return the flows of a set by phase."""
    return {
        phase: [one.flow.to_dict() for one in own]
        for phase, own in groupby(flows, lambda one: one.phase)
    }


def _text(flows: "Sequence[PhaseFlow]") -> str:
    """Return the phases of a set, with the number of their flows."""
    return ", ".join(
        f"{phase} ({len(own)} flow{'s' * (len(own) > 1)})" for phase, own in _phases(flows).items()
    )
