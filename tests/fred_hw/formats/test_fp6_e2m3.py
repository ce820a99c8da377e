"""Tests of fred_hw.formats.fp6_e2m3, against float6_e2m3fn of ml_dtypes."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from fred_hw.formats.fp6_e2m3 import FP6_E2M3
from fred_hw.formats.values import values_of

from .every_pair import check_floats, check_floats_in_hardware, simulated


def test_encodings_are_those_of_the_specification() -> None:
    codes = np.array([FP6_E2M3.largest, 0x08, 1, 0x3F], np.uint8)
    assert values_of(codes, FP6_E2M3).tolist() == [7.5, 1, 2**-3, -7.5]
    assert (FP6_E2M3.bits, FP6_E2M3.storage_bits, FP6_E2M3.beyond) == (6, 8, 0x1F)
    assert FP6_E2M3.infinity is FP6_E2M3.canonical_nan is None


def test_every_pair_is_right_in_the_golden_model() -> None:
    check_floats(FP6_E2M3, ml_dtypes.float6_e2m3fn)


@pytest.mark.slow
@simulated
def test_every_pair_is_right_in_hardware(tmp_path: Path) -> None:
    check_floats_in_hardware(FP6_E2M3, ml_dtypes.float6_e2m3fn, tmp_path)
