"""A new entry of any registry is known wherever a user asks for one, without a second file."""

import importlib
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import clustermodel
import fred_cli.schemas
import fred_hw
import gen
import perfmodel
import studies
import testbench.sim
import tracemodel
from docs.generate.names import names
from fred_cli.schemas.file_kind import FILES
from fred_hw.files import validate
from fred_hw.formats.number_format import FORMATS
from fred_hw.mesh.algorithm import ALGORITHMS as MESH_ALGORITHMS
from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.networks.network import NETWORKS
from fred_hw.operations.operation import OPERATIONS
from fred_hw.registry import Registry
from fred_hw.spec import SwitchSpec
from gen.companions.companion import COMPANIONS
from gen.design import generate
from gen.level import LEVELS
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.network.model import NETWORK_MODELS
from perfmodel.repurpose.reader import READERS
from perfmodel.topology.files import KINDS as TOPOLOGIES
from perfmodel.training.compute_model import COMPUTE_MODELS
from perfmodel.training.placement.policy import POLICIES
from perfmodel.workloads.file import KINDS as WORKLOADS
from perfmodel.workloads.pipeline_schedule import SCHEDULES
from studies.section import SECTIONS
from testbench.sim.simulator import SIMULATORS
from tests.fred_cli.fred import Fred

NEW = "newcomer"

MESH = Path(__file__).parents[2] / "examples/mesh-5x4.yaml"
ESTIMATE = "estimate --topology fred-d --workload"
REFUSED: dict[str, tuple[Registry[Any], str]] = {
    "number format": (FORMATS, "gen tiny-2 -o out --set format=newcome"),
    "operation": (OPERATIONS, "gen tiny-2 -o out --set operation=newcome"),
    "network": (NETWORKS, "gen tiny-2 -o out --level switch --set network=newcome"),
    "routing algorithm of a mesh": (
        ROUTINGS,
        f"gen {MESH} --level router -o out --set routing=newcome",
    ),
    "algorithm on a mesh": (MESH_ALGORITHMS, f"route {MESH} --algorithm newcome"),
    "algorithm": (ALGORITHMS, "collective --topology fred-d --algorithm newcome"),
    "section": (SECTIONS, "reproduce --section newcome"),
    "topology": (TOPOLOGIES, "collective --topology newcome"),
    "network model": (NETWORK_MODELS, "collective --topology fred-d --network-model newcome"),
    "kind of topologies": (TOPOLOGIES, "collective --topology no-kind.yaml"),
    "compute model": (COMPUTE_MODELS, f"{ESTIMATE} gpt-3 --compute newcome"),
    "placement": (POLICIES, f"{ESTIMATE} gpt-3 --placement newcome"),
    "kind of workloads": (WORKLOADS, f"{ESTIMATE} no-kind.yaml"),
    "schedule": (SCHEDULES, f"{ESTIMATE} gpt-3 --schedule newcome"),
    "level": (LEVELS, "gen tiny-2 -o out --level newcome"),
    "simulator": (SIMULATORS, "sim tiny-2 --sim newcome"),
    "format of networks": (READERS, "repurpose m.newcome --workers 2 --calibration c.npz"),
    "kind of files": (FILES, "schema newcome"),
}
LISTED = {
    "compare": (COMPUTE_MODELS,),
    "characterize": (SIMULATORS,),
    "collective": (ALGORITHMS, TOPOLOGIES),
    "gen": (COMPANIONS, LEVELS),
    "estimate": (COMPUTE_MODELS, POLICIES, SCHEDULES, TOPOLOGIES),
    "reproduce": (COMPUTE_MODELS, SECTIONS),
    "route": (MESH_ALGORITHMS,),
    "schema": (FILES,),
    "sim": (SIMULATORS,),
    "strategies": (COMPUTE_MODELS, POLICIES),
}


def registries() -> list[Registry[Any]]:
    """Return every registry that there is."""
    found: dict[str, Registry[Any]] = {}
    for package in (
        *(fred_hw, gen, perfmodel, tracemodel, clustermodel, studies),
        *(testbench.sim, fred_cli.schemas),
    ):
        for info in walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(info.name)).values():
                if isinstance(value, Registry):
                    found[value.package] = value
    return list(found.values())


def lent(registry: Registry[Any]) -> Any:
    """Have an entry more, like the first one but for its name."""
    entry = next(iter(registry.values()))
    if registry is TOPOLOGIES:
        entry = replace(entry, names=(NEW,), read_name=lambda text: {} if text == NEW else None)
    elif registry is COMPANIONS:
        entry = replace(entry, ending=f".{NEW}", levels=None, write=lambda _: "text")
    return registry.lending(NEW, entry)


def test_every_registry_is_tried_here() -> None:
    tried = [registry for registry, _ in REFUSED.values()] + [COMPANIONS]
    assert {one.package for one in registries()} == {one.package for one in tried}


@pytest.mark.parametrize("registry", registries(), ids=lambda one: one.package)
def test_new_entry_is_on_the_page_of_names(registry: Registry[Any]) -> None:
    assert NEW not in names()
    with lent(registry):
        assert NEW in names()


@pytest.mark.parametrize("what", REFUSED)
def test_refusal_of_a_close_name_suggests_or_lists_the_new_entry(
    refused: Callable[..., str], place: Path, what: str
) -> None:
    (place / "no-kind.yaml").write_text("kind: newcome\n")
    registry, line = REFUSED[what]
    for context, listed in ((nullcontext(), False), (lent(registry), True)):
        with context:
            said = refused(*line.split())
        assert "'newcome'" in said
        assert (f"'{NEW}'" in said or NEW in said.partition("not")[0]) is listed, said


@pytest.mark.parametrize("command", LISTED)
def test_help_lists_the_new_entry(fred: Fred, command: str) -> None:
    for registry in LISTED[command]:
        with lent(registry):
            status, out, _ = fred(command, "--help")
        assert status == 0
        assert re.search(rf"\b{NEW}\b", out), registry.kind


def test_new_format_and_operation_can_be_specified_and_new_file_is_written() -> None:
    for registry, field in ((FORMATS, "format"), (OPERATIONS, "operation")):
        with lent(registry):
            spec = validate(SwitchSpec, {"ports": 2, "lanes": 1, field: NEW}, "spec")
            assert NEW in spec.name
    with lent(ROUTINGS):
        assert NEW in MeshSpec(width=2, height=2, routing=NEW).name
    with lent(COMPANIONS):
        design = generate(SwitchSpec(ports=2, lanes=1))
        assert f"{design.name}.{NEW}" in design.files()
