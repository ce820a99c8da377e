"""Tests of `fred numerics`."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.fred_cli.fred import Fred

WAFER = str(Path(__file__).parents[3] / "examples" / "wafer-4.yaml")


def test_a_switch_is_compared_in_all_floats(fred: Fred) -> None:
    found = fred.json("numerics", "small-4", "--elements", "50")
    formats = {one["format"]: one for one in found["formats"]}
    assert {"fp16", "bf16", "fp32", "fp8_e4m3", "fp8_e5m2"} <= formats.keys()
    assert formats["fp16"]["operands"] == 4
    assert 0 < formats["fp32"]["tree"]["max_relative"] < formats["bf16"]["tree"]["max_relative"]
    assert found == fred.json("numerics", "small-4", "--elements", "50")
    other = fred.json("numerics", "small-4", "--elements", "50", "--seed", "2")
    assert other["formats"] != found["formats"]


def test_a_wafer_sums_over_its_npus(fred: Fred) -> None:
    (found,) = fred.json("numerics", WAFER, "--elements", "20", "--format", "bf16")["formats"]
    assert (found["format"], found["operands"], found["elements"]) == ("bf16", 4, 20)
    assert "tree = ring" in fred.out("numerics", WAFER, "--elements", "20", "--format", "bf16")


@pytest.mark.parametrize("name", ["values.npy", "values.csv"])
def test_operands_are_read_from_a_file(name: str, fred: Fred, tmp_path: Path) -> None:
    values, path = np.ones((4, 3)), tmp_path / name
    np.save(path, values) if name.endswith("npy") else np.savetxt(path, values, delimiter=",")
    (found,) = fred.json("numerics", "small-4", "--values", str(path), "--format", "fp16")[
        "formats"
    ]
    assert (found["elements"], found["equal"], found["tree"]["rounded"]) == (3, 1.0, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,4\n", "must have 4 rows, not 2"),
        ("1,2\n3\n", "must be an array of numbers, as .npy or CSV"),
        ("1\nnan\n1\n1\n", "must have finite numbers only"),
        ("1\n1\n1\n70000\n", "must be at most 65504 for fp16, not 70000"),
    ],
)
def test_other_files_are_refused(
    text: str, message: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "values.csv"
    path.write_text(text)
    said = refused("numerics", "small-4", "--values", str(path), "--format", "fp16")
    assert said == f"error: {path}: {message}"


def test_a_file_that_is_missing_is_refused(refused: Callable[..., str]) -> None:
    assert "No such file" in refused("numerics", "small-4", "--values", "missing.npy")


def test_a_seed_is_not_negative(refused: Callable[..., str]) -> None:
    assert "must be an integer of 0 or more, not '-1'" in refused(
        "numerics", "small-4", "--seed", "-1"
    )


@pytest.mark.parametrize(
    "option", [("--seed", "3"), ("--elements", "5"), ("--distribution", "normal")]
)
def test_options_of_random_operands_are_refused_with_a_file(
    option: tuple[str, str], refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "values.csv"
    path.write_text("1\n1\n1\n1\n")
    said = refused("numerics", "small-4", "--values", str(path), *option)
    assert said == f"error: numerics: {option[0]}: must be left out with --values"
