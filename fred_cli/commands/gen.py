"""Command `fred gen`."""

from pathlib import Path
from typing import Any

import click

from fred_cli.command import Command
from fred_cli.options import (
    ListingOption,
    NameChoice,
    OutputPath,
    as_json_option,
    level_option,
    only_option,
    read_pruned,
    set_option,
    spec_argument,
)
from fred_cli.output import print_json
from fred_cli.progress import progress

__all__ = ["command"]

_TOLD = ("microswitches", "pruned", "acks", "replay")
"""Manifest entries that are printed, if present."""


def _files() -> str:
    from gen.companions.companion import COMPANIONS

    always = [name for name, one in COMPANIONS.items() if one.levels is None]
    some = [f"{name} ({', '.join(one.levels)})" for name, one in COMPANIONS.items() if one.levels]
    return f"Folder for {', '.join(always)}. Some levels also have {', '.join(some)}."


def _outputs(*_: object) -> list[str]:
    from gen.peakrdl import PEAKRDL_KINDS

    return list(PEAKRDL_KINDS)


def _peakrdl(level: str, spec: Any, outputs: tuple[str, ...]) -> dict[str, bytes]:
    """Return the PeakRDL outputs for the registers of a level."""
    from fred_hw.errors import InputError
    from gen.level import LEVELS
    from gen.peakrdl import peakrdl_files
    from gen.system_rdl import system_rdl

    registers = LEVELS[level].registers
    if registers is None:
        known = " or ".join(name for name, one in LEVELS.items() if one.registers)
        raise InputError("--peakrdl", "", f"must be given with --level {known}, not {level}")
    return peakrdl_files(LEVELS[level].name(spec), system_rdl(registers(spec)), outputs)


@click.command("gen", cls=Command, example="fred gen small-4 -o build/small-4")
@spec_argument
@set_option
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=OutputPath(folder=True),
    cls=ListingOption,
    listing=_files,
)
@level_option()
@click.option(
    "--peakrdl",
    "outputs",
    multiple=True,
    type=NameChoice(_outputs),
    help="Also write the registers as HTML pages, C header or UVM model; repeatable.",
)
@only_option
@as_json_option
def command(
    spec_source: str,
    changes: tuple[str, ...],
    folder: Path,
    level: str,
    outputs: tuple[str, ...],
    needs: Path | None,
    as_json: bool,
) -> None:
    """Write the Verilog of SPEC, a YAML file or a preset, and its companion files."""
    from gen.design import file_names, generate
    from gen.level import LEVELS
    from gen.write import check_file, write_files

    spec = read_pruned(spec_source, changes, needs, level)
    LEVELS[level].check(spec, spec_source)
    more = _peakrdl(level, spec, outputs) if outputs else {}
    for name in (*file_names(spec, level), *more):
        check_file(folder / name)
    with progress(f"generating {spec.name}"):
        design = generate(spec, level=level)
        files: dict[str, str | bytes] = {**design.files(), **more}
    paths = write_files(files, folder)
    found = {key: design.manifest[key] for key in _TOLD if key in design.manifest}
    report = {
        "name": design.name,
        "level": level,
        "files": [str(path) for path in paths],
        "modules": design.modules,
        "verilog_bytes": design.manifest["verilog_bytes"],
        "latency_cycles": design.latency_cycles,
        **found,
    }
    if as_json:
        print_json(report)
        return
    print(
        f"{design.name}: {len(design.modules)} modules, {report['verilog_bytes']:,} bytes, "
        f"latency {design.latency_cycles} cycles"
    )
    if counts := found.get("microswitches"):
        kinds = {"R", "D", "RD", *(kind for kind, n in counts.items() if n)}
        print("; ".join(f"{n} {kind}" for kind, n in counts.items() if kind in kinds))
    if "pruned" in found:
        print(_kept(found["pruned"]))
    if "acks" in found and (rate := found["acks"]["flits_per_cycle"]) < 1:
        print(
            f"acks hold all-reduces of all ports to about {rate} flits per port and cycle; "
            "larger protocol.packet_flits have more"
        )
    if bound := found.get("replay", {}).get("bound"):
        print(_bound(bound, found["replay"]))
    for path in paths:
        if path.parent == folder or path.name == "index.html":  # not all pages of a folder
            print(f"  {path}")


def _kept(parts: dict[str, dict[str, int]]) -> str:
    """Return a text that says what a pruned interconnect kept."""
    kept, full = parts["kept"], parts["full"]
    names = {"microswitches": "micro-switches", "reduction_units": "reduction units"}
    said = (f"{n} of {full[key]} {names.get(key, key)}" for key, n in kept.items())
    return f"pruned: keeps {', '.join(said)}"


def _bound(key: str, replay: dict[str, Any]) -> str:
    """Return a text that names what keeps the longest path of a fabric below full rate."""
    has = replay["window_packets" if key == "protocol.window_packets" else "packets"]
    return (
        f"{key} holds the longest path, a round trip of "
        f"{replay['longest_path']['round_trip_cycles']} cycles, below full rate: it takes "
        f"{replay['packets_for_full_rate']} packets that are "
        f"not acknowledged, not {has}"
    )
