"""`fred route` of a wafer: what is written to all switches and endpoints of a plane."""

from pathlib import Path
from typing import TYPE_CHECKING

from fred_hw.errors import InputError

from .options import read_wafer
from .output import checked, say_json, table, write_json
from .progress import progress
from .values import parse_size

if TYPE_CHECKING:
    from fred_hw.wafer.program import WaferProgram

__all__ = ["route_wafer", "whole_flits"]


def route_wafer(
    source: str,
    changes: tuple[str, ...],
    strategy: str | None,
    size: str,
    generation: int,
    collectives: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compile a strategy for a wafer, and print or write its program."""
    from fred_hw.compiler.placement import Strategy
    from fred_hw.wafer.program import compile_strategy

    wafer = read_wafer(source, changes)
    if strategy is None:
        raise InputError("route", "--strategy", "must be given with a wafer, not FLOWS")
    count = whole_flits(size, wafer.link.data_width // 8)
    with checked("--strategy", spec=source), progress(f"compiling {strategy}"):
        more = {"generation": generation, "collectives": collectives}
        program = compile_strategy(wafer, Strategy.parse(strategy), count, **more)
    if output is not None:
        write_json(program.to_dict(), output)
    if as_json:
        say_json(program.to_dict())
    else:
        _say(program)


def whole_flits(size: str, flit_bytes: int) -> int:
    """Return the bytes of a buffer that ``--size`` gives.

    Raises
    ------
    InputError
        They are no whole flits, or too many.
    """
    count = parse_size(size)
    if count < flit_bytes or count % flit_bytes or count >= 1 << 32:
        message = f"must be whole flits of {flit_bytes} B, at most 4 GiB, not {size!r}"
        raise InputError("--size", "", message)
    return int(count)


def _say(program: "WaferProgram") -> None:
    """Print what each phase takes of the plane."""
    chiplets = program.plane.chiplets
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
            len(one.ways.flows),
            sum(
                chiplets[chiplet].ends[port].kind == "chiplet"
                for chiplet, flows in one.ways.flows.items()
                for flow in flows
                for port in flow.outputs
            ),
        )
        for one in program.phases
    ]
    columns = ("phase", "number", "circuit", "flows", "chiplets", "links between chiplets")
    table(title, columns, rows)
