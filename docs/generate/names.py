"""The page of everything that has a name which users type, from the registries."""

from collections.abc import Iterable, Sequence

from fred_hw.formats.number_format import FORMATS, FloatFormat
from fred_hw.operations.operation import OPERATIONS, Operation
from gen.companions.companion import COMPANIONS
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.studies.section import SECTIONS
from perfmodel.topology.files import KINDS as TOPOLOGIES
from perfmodel.training.compute_model import COMPUTE_MODELS
from perfmodel.training.placement.policy import POLICIES
from perfmodel.workloads.file import KINDS as WORKLOADS
from perfmodel.workloads.pipeline_schedule import SCHEDULES
from testbench.sim.simulator import SIMULATORS

__all__ = ["names"]

HEAD = """# Names

<!-- Written by: python -m docs.generate -->

What can be asked for by name. Each is a file of the folder that its heading names;
[extending.md](extending.md) says how to add one.
"""


def table(heading: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a section with a table."""
    lines = [" | ".join(titles), " | ".join("---" for _ in titles), *map(" | ".join, rows)]
    return [f"## {heading}\n", *(f"| {line} |" for line in lines), ""]


def formats_of(operation: Operation) -> str:
    """Return the formats that an operation takes."""
    taken = [f"`{name}`" for name, one in FORMATS.items() if operation.takes(one)]
    return "all" if len(taken) == len(FORMATS) else ", ".join(taken)


def names() -> str:
    """Return the page."""
    formats = [
        (f"`{name}`", str(one.width), "float" if isinstance(one, FloatFormat) else "integer")
        for name, one in FORMATS.items()
    ]
    operations = [
        (f"`{name}`", formats_of(one), one.description) for name, one in OPERATIONS.items()
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
    plain = {
        "Simulators: `testbench/sim/simulators/`": SIMULATORS,
        "Kinds of workloads: `perfmodel/workloads/`": WORKLOADS,
        "Pipeline schedules: `perfmodel/workloads/pipeline_schedules/`": SCHEDULES,
        "Models of compute: `perfmodel/training/compute_models/`": COMPUTE_MODELS,
        "Placements: `perfmodel/training/placement/policies/`": POLICIES,
        "Sections of published figures: `perfmodel/studies/sections/`": SECTIONS,
    }
    return "\n".join(
        [
            HEAD,
            *table("Number formats: `fred_hw/formats/`", ("name", "bits", "kind"), formats),
            *table(
                "Operations: `fred_hw/operations/`",
                ("name", "formats", "does"),
                operations,
            ),
            *table(
                "Files beside the Verilog: `gen/companions/`",
                ("file", "what", "of"),
                companions,
            ),
            *table("Kinds of topologies: `perfmodel/topology/`", ("kind", "names"), kinds),
            *table(
                "Collective algorithms: `perfmodel/collectives/algorithms/`",
                ("name", "patterns", "needs"),
                algorithms,
            ),
            *(
                line
                for heading, registry in plain.items()
                for line in (f"## {heading}\n", ", ".join(f"`{name}`" for name in registry), "")
            ),
        ]
    )
