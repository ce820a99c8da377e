"""The page of everything that has a name which users type, from the registries."""

import ast
import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from fred_cli.cli import cli
from fred_cli.schemas.file_kind import FILES
from fred_hw.formats.number_format import FORMATS, FloatFormat, NumberFormat, wider_formats
from fred_hw.load import PRESETS, preset_path
from fred_hw.mesh.algorithm import ALGORITHMS as MESH_ALGORITHMS
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.networks.network import NETWORKS
from fred_hw.operations.operation import OPERATIONS, Operation
from fred_hw.registry import Registry
from gen.companions.companion import COMPANIONS
from gen.level import LEVELS
from perfmodel import published, published_routers
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.network.model import NETWORK_MODELS
from perfmodel.repurpose.reader import READERS
from perfmodel.topology.files import KINDS as TOPOLOGIES
from perfmodel.training.compute_model import COMPUTE_MODELS
from perfmodel.training.placement.policy import POLICIES
from perfmodel.workloads.file import KINDS as WORKLOADS
from perfmodel.workloads.pipeline_schedule import SCHEDULES
from perfmodel.workloads.workload import WORKLOADS as MODELS
from perfmodel.workloads.workload import workload_path
from studies.section import SECTIONS, Section
from synth.fpga import FAMILIES
from synth.installed import INSTALLED
from testbench.faults.fault import every_fault
from testbench.sim.simulator import SIMULATORS

from .files import says
from .reference import EXAMPLES, files

__all__ = ["names"]

ROOT = Path(__file__).parents[2]

HEAD = """# Names

<!-- Written by: python -m docs.generate -->

Everything that a user can select by name, and the file that defines it.
[How to add something](../how-to/extending.md) explains how to add a name: a file in the folder
that the heading gives. Every command also takes `--json` and `--help`.
Broken units are faults that [benches](../how-to/extend/test.md#a-fault-broken-unit) must detect.
"""

PLAIN: dict[str, Registry[Any]] = {
    "Levels of generated designs": LEVELS,
    "Simulators": SIMULATORS,
    "Kinds of workloads": WORKLOADS,
    "Routing algorithms of a mesh": ROUTINGS,
    "Algorithms on a mesh": MESH_ALGORITHMS,
    "Pipeline schedules": SCHEDULES,
    "Models of compute": COMPUTE_MODELS,
    "Placements": POLICIES,
    "Formats of trained networks": READERS,
    "Kinds of files": FILES,
}
"""Registries of which each entry's file says all that there is to say, by heading."""


def table(heading: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a section with a table."""
    lines = [" | ".join(titles), " | ".join("---" for _ in titles), *map(" | ".join, rows)]
    return [f"## {heading}\n", *(f"| {line} |" for line in lines), ""]


def home(registry: Registry[Any], name: str) -> str:
    """Return a link to the file of an entry."""
    parts = registry.module(name).split(".")
    return f"[{parts[-1]}.py](../../{'/'.join(parts)}.py)"


def comment(path: Path) -> str:
    """Return the comment at the head of a YAML file, without commands to type."""
    head = takewhile(lambda line: line.startswith("#"), path.read_text("utf-8").splitlines())
    words = (line.lstrip("# ").strip() for line in head)
    return " ".join(line for line in words if not line.startswith("fred ")).removesuffix(".")


def link(path: Path) -> str:
    """Return a link to a file."""
    return f"[{path.name}](../../{path.resolve().relative_to(ROOT).as_posix()})"


def shipped(heading: str, paths: Iterable[Path]) -> list[str]:
    """Return a section of YAML files of the package: names, and the comment at their head."""
    rows = [(f"`{path.stem}`", comment(path), link(path)) for path in paths]
    return table(heading, ("name", "is", "in"), rows)


@cache
def examples() -> tuple[tuple[str, str, str], ...]:
    """Return kind, first sentence and place of each YAML file to copy from, by kind."""
    return tuple(
        (
            f"[{name}](yaml-keys.md#{name})",
            comment(path).split(". ")[0].replace("`", ""),
            link(path),
        )
        for name, kind in FILES.items()
        for path in files(kind)
        if path.is_relative_to(EXAMPLES)
    )


def commands(
    group: click.Group = cli, above: str = "", parent: click.Context | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """Yield words, arguments and options, what it does and the file of each command."""
    context = parent or click.Context(group)
    for name in group.list_commands(context):
        command, words = group.get_command(context, name), f"{above} {name}".lstrip()
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, words, click.Context(command, parent=context))
            continue
        asked = [
            one.opts[-1] if one.param_type_name == "option" else one.human_readable_name
            for one in command.params
        ]
        does = (command.help or "").partition("\n\n")[0]
        module = words.split()[0].replace("-", "_")
        home = ROOT / "fred_cli/commands" / f"{module}.py"
        listed = ", ".join(f"`{one}`" for one in asked if one not in ("--json", "--help"))
        yield f"`{words}`", listed, " ".join(does.split()).removesuffix("."), link(home)


def command_table() -> list[str]:
    """Return the section of all commands."""
    titles = ("name", "arguments and options", "does", "in")
    return table("Commands: `fred_cli/commands/`", titles, commands())


COLUMNS = ("bits", "storage bits", "kind", "`accumulation`")
"""Columns of :func:`row_of`."""


def row_of(number_format: NumberFormat) -> tuple[str, str, str, str]:
    """Return the columns of a number format."""
    kind = "float"
    if not isinstance(number_format, FloatFormat):
        kind = "integer" if number_format.signed else "integer without a sign"
    wider = ", ".join(f"`{name}`" for name in wider_formats(number_format)) or "none"
    return str(number_format.bits), str(number_format.storage_bits), kind, wider


def formats_of(operation: Operation) -> str:
    """Return the formats that an operation takes."""
    taken = [f"`{name}`" for name, one in FORMATS.items() if operation.takes(one)]
    return "all" if len(taken) == len(FORMATS) else ", ".join(taken)


def registers_of(operation: Operation) -> str:
    """Return the registers of ``adder_registers: auto``, with the formats that have so many."""
    of: dict[int, list[str]] = {}
    for name, one in FORMATS.items():
        if operation.takes(one):
            of.setdefault(operation.registers(one), []).append(f"`{name}`")
    alike = len(of) == 1
    return "; ".join(f"{n}" if alike else f"{n}: {', '.join(found)}" for n, found in of.items())


def subjects_of(section: Section) -> str:
    """Return how ids of the rows of a section begin."""
    return ", ".join(f"`{subject}/`" for subject in section.subjects)


def figures(module: ModuleType) -> list[tuple[str, str, str]]:
    """Return name, of what, and meaning of all that a module has of published works."""
    rows = []
    for node, doc in pairwise(ast.parse(inspect.getsource(module)).body):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found = [
            one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)
        ]
        if isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and found:
            value = getattr(module, found[0])
            of = ", ".join(map(str, value)) if isinstance(value, dict) else ""
            says = " ".join(str(doc.value.value).split())
            rows.append((", ".join(f"`{name}`" for name in found), of, says))
    return rows


def faults() -> list[tuple[str, ...]]:
    """Return what each broken unit is, of which unit, and the benches that must notice it."""
    return [
        (
            f"`{fault.__name__}`",
            " ".join((fault.disturb.__doc__ or "").split()).removesuffix("."),
            f"`{fault.unit.__name__}`",
            ", ".join(fault.noticed),
            f"[{module}.py](../../testbench/faults/{module}.py)",
        )
        for fault, module in every_fault().items()
    ]


def names() -> str:
    """Return the page."""
    formats = [(f"`{name}`", *row_of(one)) for name, one in FORMATS.items()]
    operations = [
        (f"`{name}`", formats_of(one), registers_of(one), one.description)
        for name, one in OPERATIONS.items()
    ]
    companions = [
        (f"`NAME{one.ending}`", name, ", ".join(one.levels or ("all",)))
        for name, one in COMPANIONS.items()
    ]
    algorithms = [
        (f"`{name}`", ", ".join(one.patterns).replace("_", "-"), one.needs or "anything")
        for name, one in ALGORITHMS.items()
    ]
    networks = [(f"`{name}`", one.description) for name, one in NETWORKS.items()]
    models = [(f"`{name}`", one.description) for name, one in NETWORK_MODELS.items()]
    kinds = [
        (f"`{name}`", ", ".join(f"`{one}`" for one in kind.names))
        for name, kind in TOPOLOGIES.items()
    ]
    sections = [(f"`{name}`", subjects_of(one)) for name, one in SECTIONS.items()]
    rich: dict[str, tuple[Registry[Any], tuple[str, ...], list[tuple[str, ...]]]] = {
        "Number formats": (FORMATS, ("name", *COLUMNS), formats),
        "Networks of a switch": (NETWORKS, ("name", "is"), networks),
        "Operations": (OPERATIONS, ("name", "formats", "`auto` registers", "does"), operations),
        "Companion files of the Verilog": (COMPANIONS, ("file", "what", "of"), companions),
        "Kinds of topologies": (TOPOLOGIES, ("kind", "names"), kinds),
        "Collective algorithms": (ALGORITHMS, ("name", "patterns", "needs"), algorithms),
        "Network models": (NETWORK_MODELS, ("name", "has"), models),
        "Sections of published figures": (SECTIONS, ("name", "prefixes of ids of rows"), sections),
    }
    for heading, registry in PLAIN.items():
        does = [says(ROOT / f"{registry.module(name).replace('.', '/')}.py") for name in registry]
        rows = [(f"`{name}`", what) for name, what in zip(registry, does, strict=True)]
        rich[heading] = registry, ("name", "description"), rows
    lines = [HEAD, *command_table()]
    for heading, (registry, titles, rows) in rich.items():
        homes = [home(registry, name) for name in registry]
        placed = [(*row, at) for row, at in zip(rows, homes, strict=True)]
        folder = registry.package.replace(".", "/")
        lines += table(f"{heading}: `{folder}/`", (*titles, "in"), placed)
    libraries = [
        (f"`{name}`", one.description, f"`fred-hw[{name}]`, package {one.package}")
        for name, one in INSTALLED.items()
    ]
    place = "Cell libraries: `synth/installed.py`"
    lines += table(place, ("name", "is", "comes with"), libraries)
    fpgas = [(f"`{name}`", one.title) for name, one in FAMILIES.items()]
    lines += table("FPGAs: `synth/fpga.py`", ("name", "is"), fpgas)
    for module in (published, published_routers):
        place = f"Published figures: `{module.__name__.replace('.', '/')}.py`"
        lines += table(place, ("name", "of", "is"), figures(module))
    lines += shipped("Workloads: `perfmodel/workloads/`", map(workload_path, MODELS))
    lines += shipped("Presets of switches: `fred_hw/presets/`", map(preset_path, PRESETS))
    lines += table("Files to copy from: `examples/`", ("kind", "is", "in"), examples())
    titles = ("name", "is", "unit", "noticed by", "in")
    lines += table("Broken units: `testbench/faults/`", titles, faults())
    return "\n".join(lines)
