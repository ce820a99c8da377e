"""Tables of the pages on machines and on endpoints agree with what `fred reproduce` prints."""

import pytest

from perfmodel.published_ace import TRAINING
from perfmodel.published_machines import ITERATIONS, LLAMA_MFU
from tests.studies.test_reproduce import rows_of

from .pages import ROOT

PHRASES = {
    "README.md": "predicts eight others with a mean error of {}",
    "docs/explanation/machines.md": "The mean error of the eight predictions is {}.",
}
"""What pages say of the mean error of iterations on H100s."""


def cells(page: str) -> list[list[str]]:
    """Return the cells of every row of every table of a page."""
    text = (ROOT / "docs/explanation" / page).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.slow
def test_page_on_machines_has_the_iterations() -> None:
    found = {row.id: row for row in rows_of("machines")}
    printed = {(one[1], one[2]): one[3:] for one in cells("machines.md") if len(one) == 5}
    for name, run in ITERATIONS.items():
        row = found[f"machines/h100/iteration/{name}"]
        assert isinstance(row.model, float) and row.ratio is not None
        time, error = printed[run.strategy, run.time.printed]
        assert time == f"{row.model:.2f}", name
        printed_error = float(error.removeprefix("fitted, ").removesuffix(" %"))
        assert printed_error == pytest.approx(100 * (row.ratio - 1), abs=0.0501), name
        assert error.startswith("fitted") == (row.evidence == "calibrated"), name


@pytest.mark.slow
@pytest.mark.parametrize("page", PHRASES)
def test_pages_have_the_mean_error_of_iterations_on_h100s(page: str) -> None:
    [row] = [row for row in rows_of("machines") if row.id == "machines/error/charon/h100-mean"]
    assert isinstance(row.model, float) and " 8 predicted iterations " in row.what
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert PHRASES[page].format(f"{row.model:.1f} %") in text


@pytest.mark.slow
def test_page_on_machines_has_the_utilization_of_all_readings() -> None:
    found = {row.id: row for row in rows_of("machines")}
    rows = [found[f"machines/h100/mfu/llama-3-405b/{npus}"] for npus in LLAMA_MFU]
    readings = [[one.model for one in row.every_reading] for row in rows]
    for models in zip(*readings, strict=True):
        wanted = [f"{one:.1f}" for one in models]
        assert wanted in [one[1:] for one in cells("machines.md")]


@pytest.mark.slow
def test_page_on_endpoints_has_the_gains_in_training() -> None:
    found = {row.id: row for row in rows_of("endpoint")}
    rows = [found[f"endpoint/training/{name}"] for name in TRAINING]
    readings = [[one.model for one in row.every_reading] for row in rows]
    for models in zip(*readings, strict=True):
        wanted = [f"{one:.2f}" for one in models]
        assert wanted in [one[1:] for one in cells("endpoint-cost.md")]
