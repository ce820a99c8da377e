"""`fred route` for a mesh or a wafer: programs of its endpoints and switches."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fred_hw.errors import InputError

from .options import read_spec
from .output import checked, json_text, print_json, table, write_given
from .progress import progress
from .values import parse_size

if TYPE_CHECKING:
    from fred_hw.mesh.program import MeshProgram
    from fred_hw.wafer.program import WaferProgram

__all__ = ["route_fabric"]


def route_fabric(
    what: str,
    source: str,
    changes: tuple[str, ...],
    strategy: str | None,
    size: str,
    output: Path | None,
    as_json: bool,
    certificate: Path | None = None,
    **how: Any,
) -> None:
    """Compile a strategy for a mesh or a plane of a wafer, and print or write its program.

    Parameters
    ----------
    what : str
        "mesh" or "wafer".
    source, changes, strategy, size, output, as_json, certificate
        As given on the command line; only a wafer has a certificate.
    how
        Further arguments of its compiler.
    """
    from fred_hw.compiler.placement import Strategy

    load, compile_for, say = _mesh() if what == "mesh" else _wafer()
    fabric = read_spec(source, changes, load)
    if strategy is None:
        raise InputError("route", "--strategy", f"must be given with a {what}, not FLOWS")
    count = _whole_flits(size, fabric.link.data_width // 8)
    with checked("--strategy", spec=source), progress(f"compiling {strategy}"):
        program = compile_for(fabric, Strategy.parse(strategy), count, **how)
    files = {output: lambda: json_text(program.to_dict())}
    if certificate is not None:
        from fred_hw.certificate.writing import certify_wafer

        with checked("route", "--certify"):
            certified = json_text(certify_wafer(program))
        files[certificate] = lambda: certified
    write_given(files)
    if as_json:
        print_json(program.to_dict())
    else:
        say(program)


def _mesh() -> tuple[Any, Any, Any]:
    """Return the functions that load a mesh, compile for it and print the program."""
    from fred_hw.mesh.load import load_mesh
    from fred_hw.mesh.program import compile_for_mesh

    return load_mesh, compile_for_mesh, _say_mesh


def _wafer() -> tuple[Any, Any, Any]:
    """Return the functions that load a wafer, compile for it and print the program."""
    from fred_hw.wafer.load import load_wafer
    from fred_hw.wafer.program import compile_strategy

    return load_wafer, compile_strategy, _say_wafer


def _whole_flits(size: str, flit_bytes: int) -> int:
    """Return the bytes of a buffer that ``--size`` gives; fail unless whole flits that fit."""
    count = parse_size(size)
    if count < flit_bytes or count % flit_bytes or count >= 1 << 32:
        message = f"must be whole flits of {flit_bytes} B, at most 4 GiB, not {size!r}"
        raise InputError("--size", "", message)
    return int(count)


def _say_mesh(program: "MeshProgram") -> None:
    """Print what each phase uses on the mesh."""
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


def _say_wafer(program: "WaferProgram") -> None:
    """Print what each phase uses on the plane."""
    chiplets = program.plane.units
    title = f"{program.strategy} on a plane of {program.plane.wafer.name}"
    if program.collectives == "ring":
        npus = range(program.plane.wafer.npus)
        parts = [
            (
                one.name,
                one.number,
                one.circuit,
                len(one.flows),
                max(len(program.descriptors(npu, one)) for npu in npus),
            )
            for one in program.phases
        ]
        columns = ("phase", "number", "circuit", "flows", "descriptors of an endpoint")
        table(f"{title}, by endpoints", columns, parts)
        return
    rows = [
        (
            one.name,
            one.number,
            one.circuit,
            len(one.flows),
            len(one.rounds),
            len({chiplet for part in one.rounds for chiplet in part.paths.flows}),
            sum(
                chiplets[chiplet].ends[port].kind == "unit"
                for part in one.rounds
                for chiplet, flows in part.paths.flows.items()
                for flow in flows
                for port in flow.outputs
            ),
        )
        for one in program.phases
    ]
    columns = ("phase", "number", "circuit", "flows", "rounds", "chiplets")
    columns = (*columns, "links between chiplets")
    table(title, columns, rows)
