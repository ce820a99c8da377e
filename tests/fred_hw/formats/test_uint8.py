"""Tests of fred_hw.formats.uint8."""

from pathlib import Path

import pytest

from fred_hw.formats.uint8 import UINT8

from .every_pair import check_integers, simulated


def test_range_is_that_of_a_byte() -> None:
    assert (UINT8.limits, UINT8.storage_bits) == ((0, 255), 8)


@pytest.mark.slow
@simulated
def test_every_pair_is_right_in_hardware_and_golden_model(tmp_path: Path) -> None:
    check_integers(UINT8, tmp_path)
