"""Tests of perfmodel.network.roce.files."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.network.roce.files import load_parameters
from perfmodel.network.roce.parameters import RoceFile
from tests.documented import documented_keys, read_keys

_ROW = "{gbps: 100, kmin_kb: 4, kmax_kb: 9}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timely: {t_low_us: 501}", "timely.t_low_us: must be at most t_high_us, 500, not 501"),
        ("timely: {t_high_us: 49}", "timely.t_low_us: must be at most t_high_us, 49, not 50"),
        (
            f"ecn: [{_ROW}, {_ROW}]",
            "ecn.1.gbps: must be different in each row, not 100 Gb/s in two rows",
        ),
        (
            "ecn: [{gbps: 100, kmin_kb: 9, kmax_kb: 9}]",
            "ecn.0.kmax_kb: must be above kmin_kb, 9, not 9",
        ),
    ],
    ids=["low", "high", "rates", "marks"],
)
def test_values_that_do_not_go_together_are_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "roce.yaml"
    path.write_text(text + "\n")
    with pytest.raises(InputError) as caught:
        load_parameters(path)
    assert str(caught.value) == f"{path}: {message}"


def test_the_ending_of_the_name_selects_the_format(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("timely: {t_low_us: 500}\n")
    (tmp_path / "a.txt").write_text("CC_MODE 3\n")
    low = load_parameters(tmp_path / "a.yaml").timely.t_low_us
    assert low == 500
    found = load_parameters(tmp_path / "a.txt")
    assert found == RoceFile(congestion_control="hpcc")


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("roce") == documented_keys("roce") != []
