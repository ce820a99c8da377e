"""Tests of `fred libra`."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from tests.fred_cli.fred import Fred

DESIGN = str(EXAMPLES / "bandwidth-design.yaml")
FILES = {
    "--workload": "gpt-3.txt",
    "--communicator": "communicator.yml",
    "--network": "network.yml",
    "--prices": "prices.yml",
}
GPT_3 = tuple(
    word for option, name in FILES.items() for word in (option, str(EXAMPLES / "libra" / name))
)
SHIPPED = tuple(
    word
    for text in ("total = 1000", "b0 = 500", "b0 >= b1 >= b2", "b2 + b3 = 200")
    for word in ("--constraint", text)
)


@pytest.mark.parametrize(
    ("objective", "gb_per_s", "time_ms"),
    [
        ("time", (500, 300, 151.181, 48.819), 708.4387),
        ("time_x_cost", (500, 300, 197.046, 2.954), 743.327),
    ],
)
def test_shipped_example_of_the_authors(
    objective: str, gb_per_s: tuple[float, ...], time_ms: float, fred: Fred
) -> None:
    found = fred.json("libra", *GPT_3, *SHIPPED, "--objective", objective)
    assert found["bandwidth_gb_per_s"] == pytest.approx(gb_per_s, abs=0.05)
    assert found["time_ms"] == pytest.approx(time_ms, rel=1e-6)
    assert found["objective"] == objective
    product = found["time_ms"] * (found["cost"] if objective == "time_x_cost" else 1)
    assert found["objective_value"] == pytest.approx(product)
    assert 0 <= found["kkt_residual"] < 1e-6
    assert found["equal_split"]["time_ms"] == pytest.approx(729.747, rel=1e-6)


def test_two_workloads_have_weights(fred: Fred) -> None:
    twice = ("--workload", GPT_3[1], "--communicator", GPT_3[3])
    found = fred.json("libra", *GPT_3, *twice, *SHIPPED, "--weight", "1", "--weight", "3")
    assert [one["weight"] for one in found["workloads"]] == [1, 3]
    assert found["time_ms"] == pytest.approx(4 * 708.4387, rel=1e-6)


def test_table_and_csv_are_of_the_same_dimensions(fred: Fred, place: Path) -> None:
    out = fred.out("libra", DESIGN, "--csv", "d.csv")
    with (place / "d.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["b0", "b1", "b2", "b3"]
    for row in rows:
        assert f"{float(row['bandwidth [GB/s]']):,.3f}" in out
    assert "time of gpt-3 + 0.5 x recommendation: " in out and "\nKKT residual: " in out


def test_options_add_to_a_design(fred: Fred) -> None:
    found = fred.json("libra", DESIGN, "--constraint", "b3 <= 2", "--objective", "time_x_cost")
    assert found["bandwidth_gb_per_s"][3] <= 2 + 1e-6 and found["objective"] == "time_x_cost"


def test_prices_may_be_left_out(fred: Fred) -> None:
    found = fred.json("libra", *GPT_3[:6], "--constraint", "total = 500")
    assert found["cost"] is None and found["time_ms"] == pytest.approx(722.4117809, rel=1e-8)


UNPRICED = """\
dimensions: [{block: ring, npus: 4}]
workloads: [{name: a, compute_ms: 1.0, collectives: []}]
constraints: [b0 = 5]
"""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "fred libra: --workload: must be given, or DESIGN in its place"),
        (GPT_3[:4], "fred libra: --network: must be given, or DESIGN in its place"),
        (
            (*GPT_3[:2], *GPT_3[4:]),
            "--communicator: must be given once for each --workload, 1 times, not 0",
        ),
        (
            (*GPT_3, "--weight", "1", "--weight", "2"),
            "--weight: must be given once for each --workload, 1 times, not 2",
        ),
        ((*GPT_3, "--weight", "-2"), "--weight: must be a number from 1e-09 to 1e+09, not '-2'"),
        ((DESIGN, *GPT_3), "libra: --workload: must not be given with DESIGN"),
        ((DESIGN, "--weight", "2"), "libra: --weight: must not be given with DESIGN"),
        ((DESIGN, *GPT_3[-2:]), "libra: --prices: must not be given with DESIGN"),
        (
            (*GPT_3[:-2], "--constraint", "total = 500", "--objective", "time_x_cost"),
            "fred libra: --objective: must be time unless all dimensions have prices above 0, ",
        ),
        (
            ("unpriced.yaml", "--objective", "time_x_cost"),
            "unpriced.yaml: --objective: must be time unless all dimensions have prices above 0, ",
        ),
        (GPT_3, "fred libra: --constraint: must bound every bandwidth from above, not leave b0, "),
        (
            (DESIGN, "--constraint", "b3 >= 501"),
            f"{DESIGN}: constraints: must allow a bandwidth above 0 in every dimension in use; ",
        ),
        (
            (*GPT_3, "--constraint", "b9 = 4"),
            "fred libra: --constraint: must use the names b0, b1, b2, b3, total, cost, not 'b9'",
        ),
        ((DESIGN, "--objective", "money"), "--objective: must be one of time, time_x_cost, not "),
    ],
)
def test_bad_input_is_refused_in_a_line(
    words: tuple[str, ...], message: str, refused: Callable[..., str], place: Path
) -> None:
    (place / "unpriced.yaml").write_text(UNPRICED)
    said = refused("libra", *words)
    assert said.startswith(f"error: {message}")
