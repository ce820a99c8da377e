"""Tests of fred_hw.formats.fp8_e5m2, against float8_e5m2 of ml_dtypes."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from fred_hw.formats.fp8_e5m2 import FP8_E5M2
from fred_hw.formats.values import values_of

from .every_pair import check_floats, check_floats_in_hardware, simulated


def test_encodings_are_those_of_the_specification() -> None:
    codes = np.array([FP8_E5M2.largest, 0x3C, 1, 0xFC], np.uint8)
    assert values_of(codes, FP8_E5M2).tolist() == [57344, 1, 2**-16, -np.inf]
    assert FP8_E5M2.infinity == FP8_E5M2.beyond == 0x7C
    assert (FP8_E5M2.first_nan, FP8_E5M2.canonical_nan) == (0x7D, 0x7E)


def test_every_pair_is_right_in_the_golden_model() -> None:
    check_floats(FP8_E5M2, ml_dtypes.float8_e5m2)


@pytest.mark.slow
@simulated
def test_every_pair_is_right_in_hardware(tmp_path: Path) -> None:
    check_floats_in_hardware(FP8_E5M2, ml_dtypes.float8_e5m2, tmp_path)
