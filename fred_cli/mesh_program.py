"""`fred route` of a mesh: what is written to all endpoints at its routers."""

from pathlib import Path
from typing import TYPE_CHECKING

from fred_hw.errors import InputError

from .options import read_mesh
from .output import checked, say_json, table, write_json
from .progress import progress
from .wafer_program import whole_flits

if TYPE_CHECKING:
    from fred_hw.mesh.program import MeshProgram

__all__ = ["route_mesh"]


def route_mesh(
    source: str,
    changes: tuple[str, ...],
    strategy: str | None,
    algorithm: str,
    size: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compile a strategy for a mesh, and print or write its program."""
    from fred_hw.compiler.placement import Strategy
    from fred_hw.mesh.program import compile_for_mesh

    mesh = read_mesh(source, changes)
    if strategy is None:
        raise InputError("route", "--strategy", "must be given with a mesh, not FLOWS")
    count = whole_flits(size, mesh.link.data_width // 8)
    with checked("--strategy", spec=source), progress(f"compiling {strategy}"):
        program = compile_for_mesh(mesh, Strategy.parse(strategy), count, algorithm=algorithm)
    if output is not None:
        write_json(program.to_dict(), output)
    if as_json:
        say_json(program.to_dict())
    else:
        _say(program)


def _say(program: "MeshProgram") -> None:
    """Print what each phase takes of the mesh."""
    rows = [
        (
            one.name,
            one.number,
            ", ".join(one.circuits),
            len(one.groups),
            ", ".join(dict.fromkeys(one.algorithms)),
            max(program.link_flits(one.name).values()),
        )
        for one in program.phases
    ]
    columns = ("phase", "number", "circuits", "groups", "algorithm", "flits of the busiest link")
    table(f"{program.strategy} on {program.mesh.name}", columns, rows)
