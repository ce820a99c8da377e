"""Tests of fred_hw.formats.fp8_e4m3, against float8_e4m3fn of ml_dtypes."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from fred_hw.formats.fp8_e4m3 import FP8_E4M3
from fred_hw.formats.values import values_of

from .every_pair import check_floats, check_floats_in_hardware, simulated


def test_encodings_are_those_of_the_specification() -> None:
    codes = np.array([FP8_E4M3.largest, 0x38, 1, 0xF8], np.uint8)
    assert values_of(codes, FP8_E4M3).tolist() == [448, 1, 2**-9, -256]
    assert FP8_E4M3.infinity is None
    nans = (FP8_E4M3.first_nan, FP8_E4M3.canonical_nan, FP8_E4M3.beyond)
    assert nans == (0x7F, 0x7F, 0x7F)


def test_every_pair_is_right_in_the_golden_model() -> None:
    check_floats(FP8_E4M3, ml_dtypes.float8_e4m3fn)


@pytest.mark.slow
@simulated
def test_every_pair_is_right_in_hardware(tmp_path: Path) -> None:
    check_floats_in_hardware(FP8_E4M3, ml_dtypes.float8_e4m3fn, tmp_path)
