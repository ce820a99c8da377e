"""Tests of studies.a100: what was measured on A100s."""

from perfmodel.published import A100_ITERATION
from studies.a100 import SETUPS, published_rows

ROWS = {row.id: row for row in published_rows()}


def test_every_figure_has_its_row() -> None:
    assert len(ROWS) == 16
    assert {f"iteration/{how}/{name}" for how in A100_ITERATION for name in SETUPS} <= ROWS.keys()


def test_activations_are_the_published_to_a_hundredth_of_a_gib() -> None:
    want = {"22B": 59.25, "GPT-3": 66.84, "530B": 114.02, "1T": 131.25}
    assert {name: round(float(ROWS[f"activations/{name}"].model), 2) for name in want} == want


def test_states_are_within_two_percent() -> None:
    ratios = [row.ratio for name, row in ROWS.items() if name.startswith("states/")]
    assert len(ratios) == 4 and all(one and abs(one - 1) <= 0.02 for one in ratios)


def test_iterations_are_calibrated_as_an_efficiency_was_chosen_on_them() -> None:
    rows = [row for name, row in ROWS.items() if name.startswith("iteration/")]
    assert {row.evidence for row in rows} == {"calibrated"}


def test_iterations_are_within_ten_percent() -> None:
    ratios = [row.ratio for name, row in ROWS.items() if name.startswith("iteration/")]
    assert len(ratios) == 8 and all(one and abs(one - 1) <= 0.1 for one in ratios)
    assert all(row.ok for row in ROWS.values())
