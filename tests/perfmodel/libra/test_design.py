"""Tests of perfmodel.libra.design."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generate.reference import EXAMPLES
from fred_hw.errors import InputError
from fred_hw.reading import read_data
from perfmodel.libra.design import load_design
from perfmodel.libra.optimise import optimise
from tests.documented import documented_keys, read_keys

from .reference import SUM, network, problem

FILE = EXAMPLES / "bandwidth-design.yaml"


def changed(folder: Path, *path: str | int, to: Any) -> Path:
    """Return a copy of the example in which one value is another; None takes the key out."""
    data = read_data(FILE)
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    file = folder / "d.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


def test_first_workload_is_that_of_the_authors_files(tmp_path: Path) -> None:
    data = read_data(FILE)
    file = changed(tmp_path, "workloads", to=data["workloads"][:1])
    ours = load_design(file).problem("t")
    theirs = problem(tmp_path, "GPT_3", "4d", SUM)
    assert ours.workloads[0].collectives == theirs.workloads[0].collectives
    assert ours.workloads[0].compute_s == pytest.approx(theirs.workloads[0].compute_s)
    assert ours.costs == pytest.approx(theirs.costs, rel=2e-5)  # theirs have ties broken
    assert [one.block for one in load_design(file).network] == [one.block for one in network("4d")]


def test_example_has_an_optimum_for_both_workloads() -> None:
    found = optimise(load_design(FILE).problem("t"))
    b0, b1, b2, b3 = (one / 1e9 for one in found.bytes_per_s)
    assert b0 + b1 + b2 + b3 == pytest.approx(500)
    assert b0 >= b1 - 1e-6 and b1 >= b2 - 1e-6 and b3 <= 100 + 1e-6


@pytest.mark.parametrize(
    ("path", "to", "message"),
    [
        (("dimensions", 1, "link"), -4.0, "link: must be a number from 0 to 1e+12, not -4.0"),
        (("dimensions", 1, "link"), None, "link: must be given, as other dimensions have prices"),
        (
            ("dimensions", 1, "block"),
            "torus",
            "block: must be one of ring, fully_connected, switch",
        ),
        (("dimensions", 1, "npus"), 1 << 20, "dimensions: must have at most 1048576 NPUs in all"),
        (("workloads", 0, "weight"), 0, "weight: must be a number from 1e-09 to 1e+09, not 0"),
        (
            ("workloads", 0, "collectives", 0, "groups"),
            [4, 4],
            "workloads.0.collectives.0.groups: must have 4 entries, not 2",
        ),
        (
            ("workloads", 0, "collectives", 0, "groups"),
            [4, 9, 1, 1],
            "collectives.0.groups.1: must be 1 to 8, the NPUs of the dimension, not 9",
        ),
        (("constraints",), [], "constraints: must have 1 or more entries, not []"),
        (("objective",), "cost", "objective: must be one of time, time_x_cost, not 'cost'"),
    ],
)
def test_bad_design_is_refused(
    path: tuple[str | int, ...], to: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        load_design(changed(tmp_path, *path, to=to))
    assert message in str(error.value)


def test_bad_constraint_is_refused(tmp_path: Path) -> None:
    file = load_design(changed(tmp_path, "constraints", 1, to="b0 >= b9"))
    with pytest.raises(InputError, match=r"^d: constraints: must use the names b0, "):
        file.problem("d")


def test_product_needs_prices(tmp_path: Path) -> None:
    free = [{"block": "ring", "npus": npus} for npus in (4, 8, 4, 32)]
    unpaid = load_design(changed(tmp_path, "dimensions", 2, "link", to=0.0))
    with pytest.raises(InputError, match=r"^d: objective: must be time unless all dimensions"):
        unpaid.model_copy(update={"objective": "time_x_cost"}).problem("d")
    file = load_design(changed(tmp_path, "dimensions", to=free))
    with_product = file.model_copy(update={"objective": "time_x_cost"})
    assert file.problem("d").costs is None
    with pytest.raises(
        InputError, match=r"^d: objective: must be time unless all dimensions have prices"
    ):
        with_product.problem("d")


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("libra") == documented_keys("libra") != []
