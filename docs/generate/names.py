"""The page of everything that has a name which users type, from the registries."""

import ast
import inspect
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from fred_cli.schemas.file_kind import FILES
from fred_hw.formats.number_format import FORMATS, FloatFormat, NumberFormat
from fred_hw.load import PRESETS, preset_path
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.operations.operation import OPERATIONS, Operation
from fred_hw.registry import Registry
from gen.companions.companion import COMPANIONS
from perfmodel import published
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.studies.section import SECTIONS, Section
from perfmodel.topology.files import KINDS as TOPOLOGIES
from perfmodel.training.compute_model import COMPUTE_MODELS
from perfmodel.training.placement.policy import POLICIES
from perfmodel.workloads.file import KINDS as WORKLOADS
from perfmodel.workloads.pipeline_schedule import SCHEDULES
from perfmodel.workloads.workload import WORKLOADS as MODELS
from perfmodel.workloads.workload import workload_path
from synth.installed import INSTALLED
from testbench.faults.fault import every_fault
from testbench.sim.simulator import SIMULATORS

from .files import says

__all__ = ["names"]

ROOT = Path(__file__).parents[2]

HEAD = """# Names

<!-- Written by: python -m docs.generate -->

What can be asked for by name, and the file that holds it. [extending.md](extending.md) says how to
add one: a file in the folder that its heading names. Broken units are what
[benches](extending.md#a-broken-unit) must notice.
"""


def table(heading: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a section with a table."""
    lines = [" | ".join(titles), " | ".join("---" for _ in titles), *map(" | ".join, rows)]
    return [f"## {heading}\n", *(f"| {line} |" for line in lines), ""]


def home(registry: Registry[Any], name: str) -> str:
    """Return a link to the file of an entry."""
    parts = registry.module(name).split(".")
    return f"[{parts[-1]}.py](../{'/'.join(parts)}.py)"


def shipped(heading: str, paths: Iterable[Path]) -> list[str]:
    """Return a section of YAML files of the package: names, and the comment at their head."""
    rows = []
    for path in paths:
        comment = takewhile(lambda line: line.startswith("#"), path.read_text("utf-8").splitlines())
        words = " ".join(line.lstrip("# ").strip() for line in comment).removesuffix(".")
        place = path.resolve().relative_to(ROOT)
        rows.append((f"`{path.stem}`", words, f"[{path.name}](../{place.as_posix()})"))
    return table(heading, ("name", "is", "in"), rows)


def kind_of(number_format: NumberFormat) -> str:
    """Return what kind of numbers a format has."""
    if isinstance(number_format, FloatFormat):
        return "float"
    return "integer" if number_format.signed else "integer without a sign"


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


def figures() -> list[tuple[str, str, str]]:
    """Return name, of what, and meaning of all that a published work prints."""
    rows = []
    for node, doc in pairwise(ast.parse(inspect.getsource(published)).body):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found = [
            one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)
        ]
        if isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and found:
            value = getattr(published, found[0])
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
            f"[{module}.py](../testbench/faults/{module}.py)",
        )
        for fault, module in every_fault().items()
    ]


def names() -> str:
    """Return the page."""
    formats = [(f"`{name}`", str(one.width), kind_of(one)) for name, one in FORMATS.items()]
    operations = [
        (f"`{name}`", formats_of(one), registers_of(one), one.description)
        for name, one in OPERATIONS.items()
    ]
    companions = [
        (f"`NAME{one.ending}`", name, "whole switches" if one.switch_only else "all")
        for name, one in COMPANIONS.items()
    ]
    algorithms = [
        (f"`{name}`", ", ".join(one.patterns).replace("_", "-"), one.needs or "anything")
        for name, one in ALGORITHMS.items()
    ]
    kinds = [
        (f"`{name}`", ", ".join(f"`{one}`" for one in kind.names))
        for name, kind in TOPOLOGIES.items()
    ]
    sections = [(f"`{name}`", subjects_of(one)) for name, one in SECTIONS.items()]
    rich: dict[str, tuple[Registry[Any], tuple[str, ...], list[tuple[str, ...]]]] = {
        "Number formats": (FORMATS, ("name", "bits", "kind"), formats),
        "Operations": (OPERATIONS, ("name", "formats", "`auto` registers", "does"), operations),
        "Files beside the Verilog": (COMPANIONS, ("file", "what", "of"), companions),
        "Kinds of topologies": (TOPOLOGIES, ("kind", "names"), kinds),
        "Collective algorithms": (ALGORITHMS, ("name", "patterns", "needs"), algorithms),
        "Sections of published figures": (SECTIONS, ("name", "ids of its rows begin"), sections),
    }
    plain: dict[str, Registry[Any]] = {
        "Simulators": SIMULATORS,
        "Kinds of workloads": WORKLOADS,
        "Ways through a mesh": ROUTINGS,
        "Pipeline schedules": SCHEDULES,
        "Models of compute": COMPUTE_MODELS,
        "Placements": POLICIES,
        "Kinds of files": FILES,
    }
    for heading, registry in plain.items():
        does = [says(ROOT / f"{registry.module(name).replace('.', '/')}.py") for name in registry]
        rows = [(f"`{name}`", what) for name, what in zip(registry, does, strict=True)]
        rich[heading] = registry, ("name", "its file is about"), rows
    lines = [HEAD]
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
    lines += table("Published figures: `perfmodel/published.py`", ("name", "of", "is"), figures())
    lines += shipped("Workloads: `perfmodel/workloads/`", map(workload_path, MODELS))
    lines += shipped("Presets of switches: `fred_hw/presets/`", map(preset_path, PRESETS))
    titles = ("name", "is", "unit", "noticed by", "in")
    lines += table("Broken units: `testbench/faults/`", titles, faults())
    return "\n".join(lines)
