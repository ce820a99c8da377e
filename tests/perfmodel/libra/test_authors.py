"""Tests of perfmodel.libra.authors."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_hw.errors import InputError
from perfmodel.libra import authors
from perfmodel.libra.workload import collective_bytes

from .reference import GROUPS, NETWORKS, PRICES, files, network

LINE = "conv -1 5 ALLREDUCE 64 6 NONE 0 7 ALLTOALL 8 10"


def write(folder: Path, name: str, data: Any) -> Path:
    """Return a file that holds YAML."""
    path = folder / name
    path.write_text(yaml.safe_dump(data))
    return path


def test_files_of_a_network(tmp_path: Path) -> None:
    paths = files(tmp_path, "GPT_3", "4d")
    dimensions, tiers = authors.load_network(paths["network"])
    assert tiers == ("InterChiplet", "InterPackage", "InterNode", "InterPod")
    assert authors.with_prices(dimensions, tiers, paths["prices"]) == network("4d")
    groups = authors.load_communicator(paths["communicator"], dimensions)
    assert groups["Forward"] == groups["InputGrad"] == (4, 4, 1, 1)
    assert groups["WeightGrad"] == (1, 2, 4, 32)


def test_layers_are_summed(tmp_path: Path) -> None:
    path = tmp_path / "w.txt"
    path.write_text(f"{LINE}\n\n{LINE}\n")
    groups = {"Forward": (4, 1), "InputGrad": (4, 1), "WeightGrad": (1, 2)}
    found = authors.load_workload(path, groups, 2.0)
    assert (found.name, found.weight) == ("w", 2.0)
    assert found.compute_s == pytest.approx(36e-9)  # without the delay of the update
    assert found.collectives == (
        collective_bytes("all_reduce", 128, (4, 1)),
        collective_bytes("all_to_all", 16, (1, 2)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{LINE}\n{LINE} 11\n", "line 2: must have 12 fields, not 13"),
        (f"{LINE}\n\nconv -1 5\n", "line 3: must have 12 fields, not 3"),
        (
            LINE.replace("64", "-64"),
            "line 1, field 5: must be a number from 0 to 1e+30, not '-64'",
        ),
        (
            LINE.replace(" 6 ", " nan "),
            "line 1, field 6: must be a number from 0 to 1e+30, not 'nan'",
        ),
        (
            LINE.replace("ALLTOALL", "ALLTOALLS"),
            "line 1, field 10: must be one of NONE, ALLREDUCE, REDUCESCATTER, ALLGATHER, ALLTOALL",
        ),
        ("\n", "must have a layer with compute or a collective, not none"),
    ],
)
def test_bad_line_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.txt"
    path.write_text(text)
    groups = {"Forward": (2,), "InputGrad": (2,), "WeightGrad": (2,)}
    with pytest.raises(InputError) as error:
        authors.load_workload(path, groups)
    assert str(error.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Topology": ["Ring", "Torus", "Ring"]}, "Topology.1: must be one of Ring, FullyConn"),
        ({"NpusCount": [16, 8]}, "NpusCount: must have 3 entries, as Topology has, not 2"),
        ({"NpusCount": [16, 0, 8]}, "NpusCount.1: must be an integer from 1 to 1048576, not 0"),
        ({"NpusCount": [1024, 1024, 2]}, "NpusCount: must have at most 1048576 NPUs in all"),
        ({"CostDimension": []}, "CostDimension: must have 3 entries, as Topology has, not 0"),
        ({"Npus": 4}, "Npus: unknown key; allowed are Topology, NpusCount, CostDimension"),
    ],
)
def test_bad_network_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path, "n.yml", {**NETWORKS["3d"], **changes})
    with pytest.raises(InputError) as error:
        authors.load_network(path)
    assert str(error.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ({"Link": -4.0}, "InterNode.Link: must be a number from 0 to 1e+12, not -4.0"),
        ({"Switch": 4.0}, "InterNode.Link: is required and was not given"),
        ({"Link": 4.0, "Nics": 1}, "InterNode.Nics: unknown key; allowed are Link, Switch, Nic"),
        (4.0, "InterNode: must be a mapping of keys to values, not 4.0"),
    ],
)
def test_bad_prices_are_refused(prices: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, "p.yml", {**PRICES["3d"], "InterNode": prices})
    tiers = ("InterPackage", "InterNode", "InterPod")
    with pytest.raises(InputError) as error:
        authors.with_prices(network("3d"), tiers, path)
    assert str(error.value).startswith(f"{path}: {message}")


def test_tier_without_prices_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "p.yml", PRICES["3d"])
    with pytest.raises(InputError, match="InterRack: is required by the network and was not given"):
        authors.with_prices(network("3d"), ("InterRack", "InterNode", "InterPod"), path)


@pytest.mark.parametrize(
    ("phase", "groups", "message"),
    [
        (
            "Forward",
            [4, 4, -1],
            "Forward: must list 4 groups, one for each dimension, not [4, 4, -1]",
        ),
        ("Forward", None, "Forward: must list 4 groups, one for each dimension, not None"),
        ("InputGrad", [4, 9, -1, -1], "InputGrad.1: must be -1 or an integer from 1 to 8, not 9"),
        ("InputGrad", [4, 0, -1, -1], "InputGrad.1: must be -1 or an integer from 1 to 8, not 0"),
        ("Backward", [4, 4, -1, -1], "Backward: must be one of Forward, InputGrad, WeightGrad"),
    ],
)
def test_bad_communicator_is_refused(phase: str, groups: Any, message: str, tmp_path: Path) -> None:
    forward, gradients = GROUPS["GPT_3"]["4d"]
    data = {"Forward": forward, "InputGrad": forward, "WeightGrad": gradients, phase: groups}
    path = write(tmp_path, "c.yml", data)
    with pytest.raises(InputError) as error:
        authors.load_communicator(path, network("4d"))
    assert str(error.value).startswith(f"{path}: {message}")
