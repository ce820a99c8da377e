"""Tests of fred_hw.formats.integers."""

from pathlib import Path

import pytest

from fred_hw.formats.integers import INT8, INT16, INT32

from .every_pair import check_integers, simulated


def test_ranges_are_those_of_the_widths() -> None:
    assert (INT8.limits, INT8.storage_bits) == ((-128, 127), 8)
    assert (INT16.limits[1], INT32.limits[0]) == (32767, -(1 << 31))


@pytest.mark.slow
@simulated
def test_every_pair_is_right_in_hardware_and_golden_model(tmp_path: Path) -> None:
    check_integers(INT8, tmp_path)
