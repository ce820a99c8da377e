"""Inputs and optima of LIBRA that tests compare ours with.

Inputs: the workload, network, communicator and price files of github.com/astra-sim/libra (MIT
licence), the collectives of one kind summed over the layers. Optima: measured with that code; the
rows without cost are worked out from its formulas by an independent solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from perfmodel.libra import authors
from perfmodel.libra.design import problem_of
from perfmodel.libra.network import Dimension
from perfmodel.libra.problem import Problem

__all__ = ["MEASURED", "PAIRS", "SHIPPED", "SUM", "Row", "files", "network", "problem"]

WORKLOADS = {
    "GPT_3": """\
L0 -1 228149414 ALLREDUCE 3221225472 228149414 ALLGATHER 100663296 228149414 ALLREDUCE 452984832 10
L1 -1 0 NONE 0 0 ALLREDUCE 3221225472 0 NONE 0 10
""",
    "MSFT_1T": """\
L0 -1 56665038 ALLREDUCE 3221225472 56665038 ALLGATHER 12582912 56665038 ALLREDUCE 226492416 10
L1 -1 0 NONE 0 0 ALLREDUCE 3221225472 0 NONE 0 10
""",
    "Turing_NLG": """\
L0 -1 109049554 ALLREDUCE 278921216 109049554 ALLGATHER 139460608 109049554 ALLREDUCE 869449728 10
L1 -1 0 NONE 0 0 ALLREDUCE 278921216 0 NONE 0 10
""",
    "ResNet_50": "L0 -1 380038 NONE 0 377463 NONE 0 337813 ALLREDUCE 51005824 10\n",
}
_DATA_PARALLEL = {
    "3d": ([-1, -1, -1], [16, 8, 32]),
    "4d": ([-1, -1, -1, -1], [4, 8, 4, 32]),
}
GROUPS = {
    "GPT_3": {"3d": ([16, -1, -1], [-1, 8, 32]), "4d": ([4, 4, -1, -1], [-1, 2, 4, 32])},
    "MSFT_1T": {"3d": ([16, 8, -1], [-1, -1, 32]), "4d": ([4, 8, 4, -1], [-1, -1, -1, 32])},
    "Turing_NLG": _DATA_PARALLEL,
    "ResNet_50": _DATA_PARALLEL,
}
"""NPUs of each dimension in the forward and input-gradient phases, and for weight gradients."""

NETWORKS = {
    "3d": {
        "Topology": ["Ring", "FullyConnected", "Switch"],
        "NpusCount": [16, 8, 32],
        "CostDimension": ["InterPackage", "InterNode", "InterPod"],
    },
    "4d": {
        "Topology": ["Ring", "FullyConnected", "Ring", "Switch"],
        "NpusCount": [4, 8, 4, 32],
        "CostDimension": ["InterChiplet", "InterPackage", "InterNode", "InterPod"],
    },
}
PRICES = {
    "3d": {
        "InterPackage": {"Link": 4.00001, "Switch": 13.00001},
        "InterNode": {"Link": 4.00002, "Switch": 13.00002},
        "InterPod": {"Link": 7.80003, "Switch": 18.00003, "Nic": 31.60003},
    },
    "4d": {
        "InterChiplet": {"Link": 2.00001},
        "InterPackage": {"Link": 4.00002, "Switch": 13.00002},
        "InterNode": {"Link": 4.00003, "Switch": 13.00003},
        "InterPod": {"Link": 7.80004, "Switch": 18.00004, "Nic": 31.60004},
    },
}

SUM = ("total = 500",)
SHIPPED = ("total = 1000", "b0 = 500", "b0 >= b1 >= b2", "b2 + b3 = 200")
"""Constraints of the example that comes with the authors' code."""

PAIRS = tuple((workload, net) for workload in WORKLOADS for net in NETWORKS)


@dataclass(frozen=True)
class Row:
    """An optimum: bandwidths [GB/s], time [ms], and cost [$] where the authors' code printed it."""

    workload: str
    net: str
    constraints: tuple[str, ...]
    objective: str
    gb_per_s: tuple[float, ...]
    time_ms: float
    cost: float | None = None


MEASURED = (
    Row("GPT_3", "3d", SUM, "time", (397.5529, 89.9927, 12.4543), 727.4399756786, 10916122.7927),
    Row("GPT_3", "3d", SUM, "time_x_cost", (480.5113, 17.1195, 2.3692), 759.0350790, 8710230.8135),
    Row(
        *("GPT_3", "4d", SUM, "time", (338.4497, 84.6124, 58.1578, 18.7801)),
        *(722.4117809202, 9527165.2144),
    ),
    Row(
        *("GPT_3", "4d", SUM, "time_x_cost", (448.8325, 44.5587, 4.9956, 1.6132)),
        *(813.4516761436, 4868030.2186),
    ),
    Row(
        *("GPT_3", "4d", SHIPPED, "time", (500.0, 300.0, 151.1811, 48.8189)),
        *(708.4387433760, 22966069.3610),
    ),
    Row(
        *("GPT_3", "4d", SHIPPED, "time_x_cost", (500.0, 300.0, 197.0457, 2.9543)),
        *(743.3269113510, 12934243.2836),
    ),
    Row("MSFT_1T", "4d", SUM, "time", (321.75, 93.84, 10.05, 74.35), 209.686),
    Row("Turing_NLG", "3d", SUM, "time", (468.86, 27.35, 3.79), 330.626),
    Row("ResNet_50", "4d", SUM, "time", (375.09, 109.40, 11.72, 3.79), 1.299),
)


def network(net: str) -> tuple[Dimension, ...]:
    """Return a network with its prices, without files."""
    blocks = {"Ring": "ring", "FullyConnected": "fully_connected", "Switch": "switch"}
    one = NETWORKS[net]
    return tuple(
        Dimension(
            blocks[str(block)], int(npus), *(price / 1e9 for price in PRICES[net][tier].values())
        )
        for block, npus, tier in zip(*one.values(), strict=True)
    )


def files(folder: Path, workload: str, net: str) -> dict[str, Path]:
    """Write the four files of a workload on a network; return them by their options."""
    forward, gradients = GROUPS[workload][net]
    texts = {
        "workload": (f"{workload}.txt", WORKLOADS[workload]),
        "communicator": (
            "communicator.yml",
            yaml.safe_dump({"Forward": forward, "InputGrad": forward, "WeightGrad": gradients}),
        ),
        "network": ("network.yml", yaml.safe_dump(NETWORKS[net])),
        "prices": ("prices.yml", yaml.safe_dump(PRICES[net])),
    }
    for name, text in texts.values():
        (folder / name).write_text(text)
    return {option: folder / name for option, (name, _) in texts.items()}


def problem(
    folder: Path,
    workload: str,
    net: str,
    constraints: Sequence[str] = SUM,
    objective: str = "time",
    price_factor: float = 1.0,
) -> Problem:
    """Return the problem of a workload on a network, read from files."""
    paths = files(folder, workload, net)
    dimensions, tiers = authors.load_network(paths["network"])
    dimensions = authors.with_prices(dimensions, tiers, paths["prices"])
    dimensions = tuple(
        Dimension(
            *(one.block, one.npus, one.link * price_factor),
            *(one.switch * price_factor, one.nic * price_factor),
        )
        for one in dimensions
    )
    groups = authors.load_communicator(paths["communicator"], dimensions)
    found = [authors.load_workload(paths["workload"], groups)]
    return problem_of(dimensions, found, constraints, objective, "test", priced=True)
