"""Tests of fred_cli.explore.words."""

from math import inf, nan

import pytest

from fred_cli.explore.words import label, quantity, unit_of


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("time_per_sample_s", "time per sample [s]"),
        ("npu.peak_flops", "NPU: peak [FLOP/s]"),
        ("topology.l1_l2_bytes_per_s", "topology: L1 L2 [B/s]"),
        ("energy.total_j", "energy: total [J]"),
        ("exposed_s.mp", "exposed: MP [s]"),
        ("memory.total_bytes", "memory: total [B]"),
        ("mp", "MP"),
        ("strategy", "strategy"),
    ],
)
def test_columns_have_words_and_units(name: str, said: str) -> None:
    assert label(name) == said


@pytest.mark.parametrize(
    ("value", "name", "said"),
    [
        (0.006555, "time_per_sample_s", "6.555 ms"),
        (1e15, "npu.peak_flops", "1 PFLOP/s"),
        (750e9, "topology.link_bytes_per_s", "750 GB/s"),
        (0.0, "exposed_s.mp", "0 s"),
        (16, "npus", "16"),
        (0.123456, "peak_share", "0.1235"),
        (None, "topology.columns", "none"),
        (True, "sp", "true"),
        (inf, "peak_share", "inf"),
        (-inf, "peak_share", "-inf"),
        (nan, "peak_share", "nan"),
        (inf, "time_per_sample_s", "inf s"),
        (-1e6, "npus", "-1e+06"),
        ("MP2-DP8-PP1", "strategy", "MP2-DP8-PP1"),
    ],
)
def test_values_have_a_prefix_and_a_unit(value: object, name: str, said: str) -> None:
    assert quantity(value, name) == said


def test_first_part_of_a_name_that_has_a_unit_gives_it() -> None:
    assert unit_of("energy.parts_j.mp") == "J"
    assert unit_of("topology.l1.0.npus") == ""
