"""Tests of `fred cost`."""

import csv
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from docs.generate.reference import EXAMPLES
from fred_cli.commands.cost import command
from perfmodel.published import IO_BYTES_PER_S, IO_GB_PER_S_PER_MM, NPU_L1_BYTES_PER_S
from perfmodel.wafer_cost.search import FIELD_MM2
from tests.fred_cli.fred import Fred

WAFER = str(EXAMPLES / "wafer-20.yaml")
ASSUMED = ("--defect-density", "0.1", "--clustering", "3")
PRICES = (*ASSUMED, "--wafer-price", "10000", "--test-price", "5", "--bond-yield", "0.99")


def test_the_published_wafer_is_the_default(fred: Fred) -> None:
    found = fred.json("cost")
    assert found == fred.json("cost", WAFER)
    areas = [(one["gb_per_s_per_mm"], round(one["area_mm2"])) for one in found["densities"]]
    assert areas == [(107.4, 20771), (250, 3833), (1000, 1260)]
    assert found["densities"][1]["share_percent"] == pytest.approx(18.46, abs=0.01)
    assert [one["links"] for one in found["wiring"]] == [100, 90, 100]
    assert found["search"] is None and found["faults"] == [] and found["bonded_yield"] is None
    assert all(one["price"] is None and one["die_yield"] is None for one in found["chiplets"])


def test_defaults_are_the_published_figures(fred: Fred) -> None:
    options = {one.name: one for one in command.params if isinstance(one, click.Option)}
    assert options["npu_bandwidth"].default == NPU_L1_BYTES_PER_S / 1e9
    assert options["io_bandwidth"].default == IO_BYTES_PER_S / 1e9
    first, second, third = IO_GB_PER_S_PER_MM
    assert f"[default: {first}, {second} and {third}, the" in str(options["densities"].help)
    assert f"[default: {FIELD_MM2:g}, a scanner's" in str(options["max_area"].help)
    found = fred.json("cost", "--search", "--max-chiplets", "60", "--density", "50")
    given = ("--search", "--max-chiplets", "60", "--density", "50", "--max-area", f"{FIELD_MM2}")
    assert found == fred.json("cost", *given, "--min-port-bandwidth", "46.875")


def test_no_prices_without_assumptions(fred: Fred) -> None:
    out = fred.out("cost", WAFER)
    assert "yield" not in out and "good" not in out and "assumed" not in out
    assert "assumed by you: 0.1 defects per cm2, clustering 3" in fred.out("cost", *ASSUMED)


def test_prices_of_known_good_and_monolithic_switches(fred: Fred) -> None:
    found = fred.json("cost", *PRICES, "--density", "107.4")
    (total,) = found["densities"]
    chiplets = sum(one["chiplets"] * one["price"] for one in found["chiplets"])
    assert total["chiplet_price"] == pytest.approx(chiplets)
    assert total["assembled_price"] == pytest.approx(chiplets / 0.99**35)
    wanted = (1 + 207.7058 * 0.1 / 3) ** -3
    assert total["monolithic_yield"] == pytest.approx(wanted, rel=1e-5)
    assert total["monolithic_price"] == pytest.approx(10005 / wanted, rel=1e-5)


def test_chiplets_whose_fault_a_plane_survives_raise_the_yield(fred: Fred) -> None:
    found = fred.json("cost", *PRICES, "--strategy", "MP2-DP5-PP2")
    plane = 0.99**7 + 2 * 0.01 * 0.99**6
    assert found["bonded_yield"] == pytest.approx(plane**5)
    said = {one["kind"]: (one["faults"], one["survived"]) for one in found["faults"]}
    assert said == {
        "NPU to L1": (20, 0),
        "I/O to L1": (18, 0),
        "L1 to L2": (20, 20),
        "L1 chiplet": (5, 0),
        "L2 chiplet": (2, 2),
    }
    slow = {one["kind"]: one["wafer_slowdown"] for one in found["faults"]}
    assert slow["NPU to L1"] == 1.25 and slow["L1 to L2"] == pytest.approx(5 / 4.5)


def test_a_plane_that_is_lost_leaves_nothing_of_a_wafer_of_one(fred: Fred) -> None:
    small = str(EXAMPLES / "wafer-4.yaml")
    found = fred.json("cost", small, "--strategy", "MP2-DP2-PP1")["faults"]
    (lost,) = (one for one in found if one["kind"] == "L2 chiplet")
    assert (lost["survived"], lost["wafer_slowdown"]) == (0, None)
    assert lost["why"] == "no route between two endpoints"


def test_search_at_the_published_port_rate(fred: Fred) -> None:
    words = ("--search", "--min-port-bandwidth", "600", "--max-chiplets", "60")
    found = fred.json("cost", *words, "--strategy", "MP2-DP5-PP2")["search"]
    assert [(one["l1s"], one["chiplets"], round(one["area_mm2"])) for one in found] == [
        (10, 60, 14287),
        (5, 45, 16869),
        (4, 45, 19331),
    ]
    assert [one["rounds"] for one in found] == [1, 1, 1]
    assert "Wafers of least area by number of L1 switches" in fred.out("cost", "--search")


def test_candidates_too_large_for_a_wafer_have_no_price(fred: Fred) -> None:
    words = ("--search", "--max-area", "25000", *ASSUMED, "--wafer-price", "10000")
    found = fred.json("cost", *words)["search"]
    assert found and all(one["price"] > 0 for one in found)
    assert all(one["largest_mm2"] < 20000 for one in found)


def test_table_has_a_row_for_each_kind_and_density(fred: Fred, place: Path) -> None:
    fred.out("cost", *PRICES, "--csv", "c.csv")
    with (place / "c.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9 and float(rows[0]["area_mm2"]) == pytest.approx(520.89, abs=0.01)
    assert float(rows[0]["price"]) > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--density", "nan"), "--density: must be a number from 1 to 100000, not 'nan'"),
        (("--bond-yield", "2"), "--bond-yield: must be a number from 0.001 to 1, not '2'"),
        (("--test-price", "x"), "--test-price: must be a number from 0 to 1e+09, not 'x'"),
        (("--clustering", "3"), "cost: --clustering: must be given with --defect-density"),
        (("--defect-density", "1"), "cost: --defect-density: must be given with --clustering"),
        (("--wafer-price", "1"), "cost: --wafer-price: must be given with --defect-density"),
        ((*ASSUMED, "--test-price", "1"), "cost: --test-price: must be given with --wafer-price"),
        ((*ASSUMED, "--bond-yield", "1"), "cost: --bond-yield: must be given with --wafer-price"),
        (("--max-area", "9"), "cost: --max-area: must be given with --search, not alone"),
        (
            ("--collectives", "ring"),
            "cost: --collectives: must be given with --strategy, not alone",
        ),
        (("--strategy", "MP"), "error: --strategy: must be of the form MP2-DP5-PP2, not 'MP'"),
        (("--strategy", "MP40-DP1-PP1"), "npus: must be 40 or more for strategy MP40-DP1-PP1"),
        (
            ("--search", "--max-area", "2"),
            "--search: bounds must leave at least one legal wafer, not none",
        ),
        (
            (*PRICES, "--density", "3"),
            "--density: chiplets must fit on a wafer of 300 mm, not have 667,598 mm2",
        ),
        (("fred-d",), "fred-d: must be a wafer specification, not the name of a topology"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], message: str, refused: Callable[..., str]) -> None:
    assert message in refused("cost", *words)


def test_what_is_never_good_has_no_price(fred: Fred) -> None:
    words = ("--defect-density", "1000", "--clustering", "1e6", "--wafer-price", "1e9")
    found = fred.json("cost", *words, "--density", "107.4", "--density", "107.4")
    [total] = found["densities"]
    assert total["chiplet_price"] is total["assembled_price"] is total["monolithic_price"] is None
    assert fred.out("cost", *words)
    rows = fred.json("cost", *words, "--search")["search"]
    assert rows and all(row["price"] > 0 for row in rows)
