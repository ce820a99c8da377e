"""Orders of dimensions and chunks that systems ask for: tracemodel.astra.collectives.plan."""

import re
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Pattern
from perfmodel.topology.parse import parse_topology
from tests.perfmodel.collectives.themis.test_measured import MIB, RUNS, name_of
from tracemodel.astra.collectives.ends import collective_ends
from tracemodel.astra.collectives.plan import plan_of
from tracemodel.astra.files.system import ORDERS, SystemFile
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network

ALGORITHMS = {"switch": "halvingDoubling", "ring": "ring", "fully_connected": "direct"}
NAMES = {policy: name for name, policy in ORDERS.items()}


def system(algorithms: list[str], policy: str = "themis", **more: Any) -> SystemFile:
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    found = {f"{kind}-implementation": algorithms for kind in kinds}
    return SystemFile.model_validate(
        {
            **found,
            "preferred-dataset-splits": 64,
            "collective-optimization": "localBWAware",
            "inter-dimension-scheduling": NAMES[policy],
            **more,
        }
    )


def network(run: dict[str, Any]) -> Network:
    """Return the network of a run: a ring has the rate of both links in the one direction used."""
    entries = zip(run["kinds"], run["npus"], run["gib_per_s"], strict=True)
    return Network(
        [
            Dimension(kind, npus, rate / (npus - 1 if kind == "fully_connected" else 1), 1)
            for kind, npus, rate in entries
        ]
    )


@pytest.mark.parametrize("run", RUNS, ids=name_of)
def test_runs_of_the_authors_code_message_by_message(run: dict[str, Any]) -> None:
    intra = run["intra"].upper()
    algorithms = [ALGORITHMS[kind] for kind in run["kinds"]]
    given = system(algorithms, run["policy"], **{"intra-dimension-scheduling": intra})
    ends = collective_ends(run["pattern"], run["own_mib"] * MIB, network(run), given)
    # Reductions take a few ns there and nothing here; once that changes which chunk comes first.
    another_first = name_of(run) == "3D-FC_Ring_SW-all_reduce-themis-fifo"
    near = 0.009 if another_first else 0.0003
    assert max(ends.values()) == pytest.approx(run["time_ns"], rel=near)


@pytest.mark.parametrize("policy", ORDERS.values())
@pytest.mark.parametrize("intra", ["FIFO", "SCF"])
@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather"])
def test_every_npu_ends_message_by_message_too(policy: str, intra: str, kind: Pattern) -> None:
    net = Network([Dimension("switch", 4, 100, 5), Dimension("ring", 3, 50, 7)])
    more = {"intra-dimension-scheduling": intra, "preferred-dataset-splits": 7}
    given = system(["halvingDoubling", "ring"], policy, **more)
    size = 12 * MIB
    unaware, aware = (
        collective_ends(kind, size, net, given, model=model) for model in ("unaware", "aware")
    )
    # With congestion a message is on each of its two links to a switch by itself.
    assert {*aware} == {*unaware} == {*range(12)}
    assert max(unaware.values()) < max(aware.values()) < 2.2 * max(unaware.values())


def test_an_all_to_all_keeps_its_order() -> None:
    net = Network([Dimension("switch", 4, 100, 5), Dimension("switch", 4, 100, 5)])
    plans = [
        plan_of("all_to_all", net, system(["direct", "direct"], policy), "s")
        for policy in ("dimension_order", "themis")
    ]
    first, second = (
        [[phase.axis.queue for phase in chunk] for chunk in plan.chunks(64 * MIB)] for plan in plans
    )
    assert first == second == [[0, 1]] * 64


def test_the_gap_denominator_is_taken() -> None:
    net = Network([Dimension("switch", 8, 100, 5), Dimension("switch", 8, 100, 5)])
    given = system(["direct", "direct"])
    orders = [
        [[phase.axis.queue for phase in chunk] for chunk in plan.chunks(64 * MIB)]
        for plan in (
            plan_of("reduce_scatter", net, one, "s")
            for one in (given, given.model_copy(update={"gap_denominator": 1}))
        )
    ]
    assert orders[0] != orders[1]
    assert orders[1].count([0, 1]) > orders[0].count([0, 1])


def test_a_fabric_has_no_bandwidth_to_balance() -> None:
    fabric = FabricLine(parse_topology("fred-d"), "published")
    net = FluidNetwork([fabric, *FluidNetwork([fabric]).lines])
    message = (
        "sys.json: inter-dimension-scheduling: must be baseline if a dimension is a fabric, "
        "not 'themis'"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        plan_of("all_reduce", net, system(["direct", "direct"]), "sys.json")
