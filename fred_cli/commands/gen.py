"""`fred gen`."""

from pathlib import Path
from typing import Any

import click

from fred_cli.options import (
    ListingOption,
    OutputPath,
    as_json_option,
    generated_level_option,
    read_mesh,
    read_spec,
    read_wafer,
    set_option,
    spec_argument,
)
from fred_cli.output import say_json
from fred_cli.progress import progress

__all__ = ["command"]


def _files() -> str:
    from gen.companions.companion import COMPANIONS

    always = [name for name, one in COMPANIONS.items() if not one.switch_only]
    of_switches = [name for name, one in COMPANIONS.items() if one.switch_only]
    whole = f"of a whole switch or an endpoint also {', '.join(of_switches)}"
    return f"Folder to write to: {', '.join(always)}; {whole}."


@click.command("gen")
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
@generated_level_option
@as_json_option
def command(
    spec_source: str, changes: tuple[str, ...], folder: Path, level: str, as_json: bool
) -> None:
    """Write the Verilog of SPEC, a YAML file or a preset, and the files beside it."""
    from gen.write import write_files

    make = {"mesh": _mesh, "router": _mesh, "wafer": _wafer}.get(level, _switch)
    design, files = make(spec_source, changes, folder, level)
    paths = write_files(files, folder)
    crosses = level in ("interconnect", "switch")
    found = {"microswitches": design.microswitches} if crosses else {}
    acks = {"acks": design.manifest["acks"]} if level == "switch" else {}
    report = {
        "name": design.name,
        "level": level,
        "files": [str(path) for path in paths],
        "modules": design.modules,
        "verilog_bytes": design.manifest["verilog_bytes"],
        "latency_cycles": design.latency_cycles,
        **found,
        **acks,
    }
    if as_json:
        say_json(report)
        return
    print(
        f"{design.name}: {len(design.modules)} modules, {report['verilog_bytes']:,} bytes, "
        f"latency {design.latency_cycles} cycles"
    )
    for counts in found.values():
        kinds = {"R", "D", "RD", *(kind for kind, n in counts.items() if n)}
        print("; ".join(f"{n} {kind}" for kind, n in counts.items() if kind in kinds))
    for bound in acks.values():
        if (rate := bound["flits_per_cycle"]) < 1:
            print(
                f"acks hold all-reduces of all ports to about {rate} flits per port and cycle; "
                "larger protocol.packet_flits have more"
            )
    for path in paths:
        print(f"  {path}")


def _switch(source: str, changes: tuple[str, ...], folder: Path, level: str) -> Any:
    """Return an interconnect, a switch or an endpoint, and its files."""
    from gen.design import check_level, file_names, generate
    from gen.write import check_file

    spec = read_spec(source, changes)
    check_level(spec, level, source)
    for name in file_names(spec, level):
        check_file(folder / name)
    with progress(f"generating {spec.name}"):
        design = generate(spec, level=level)
        return design, design.files()


def _mesh(source: str, changes: tuple[str, ...], folder: Path, level: str) -> Any:
    """Return a mesh or a router, and its files."""
    from gen.meshes import generate_mesh, mesh_file_names
    from gen.write import check_file

    mesh = read_mesh(source, changes)
    for name in mesh_file_names(mesh, level):
        check_file(folder / name)
    with progress(f"generating {mesh.name}"):
        design = generate_mesh(mesh, level=level)
        return design, design.files()


def _wafer(source: str, changes: tuple[str, ...], folder: Path, level: str) -> Any:
    """Return a plane of a wafer, and its files."""
    from gen.wafers import generate_wafer, wafer_file_names
    from gen.write import check_file

    wafer = read_wafer(source, changes)
    for name in wafer_file_names(wafer):
        check_file(folder / name)
    with progress(f"generating {wafer.name}"):
        design = generate_wafer(wafer)
        return design, design.files()
