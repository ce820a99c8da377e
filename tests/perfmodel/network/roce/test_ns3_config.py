"""Tests of perfmodel.network.roce.ns3_config."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.network.roce.ns3_config import config_text, read_config
from perfmodel.network.roce.parameters import SCHEMES, RoceFile


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_written_is_read_again(scheme: str, tmp_path: Path) -> None:
    path, given = tmp_path / "config.txt", RoceFile(congestion_control=scheme)
    path.write_text(config_text(given))
    assert read_config(path) == given


def test_other_numbers_of_cc_mode_are_pauses_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text("CC_MODE 77\nRATE_AI 1Gb/s\nTOPOLOGY_FILE a b c\n\n")
    found = read_config(path)
    assert (found.congestion_control, found.additive_gbps) == ("pfc", 1.0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("RATE_AY 50Mb/s", "must have a key of an ns-3 configuration, not 'RATE_AY'"),
        ("RATE_AI fast", "must be a rate such as 50Mb/s, not 'fast'"),
        ("HAS_WIN 2", "must be 0 or 1, not '2'"),
        ("U_TARGET x", "must have a number, not 'x'"),
        ("U_TARGET 1 2", "must have one value for U_TARGET, not 2"),
        ("MULTI_RATE 1", "must be MULTI_RATE 0, not 1"),
        ("KMIN_MAP 2 25000000000 100", "must be a count and so many pairs of a rate and a value"),
    ],
)
def test_bad_lines_are_refused(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text(f"CC_MODE 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: line 2: {message}")


def test_values_out_of_range_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text("U_TARGET 7\n")
    with pytest.raises(InputError, match=r"hpcc\.target: must be"):
        read_config(path)
