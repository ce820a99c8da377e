"""Tests of fred_hw.compiler.reduction_crossbar."""

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.reduction_crossbar import CrossbarConfiguration, route_crossbar


def test_each_output_takes_the_inputs_of_its_flow() -> None:
    found = route_crossbar([Flow([0, 2], [1, 3]), Flow([3], [0])], 4)
    assert found.taken == (0b1000, 0b0101, 0, 0b0101)
    assert found.pack() == 0b0101_0000_0101_1000


def test_masks_beyond_the_ports_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^CrossbarConfiguration mask must be .* not 4$"):
        CrossbarConfiguration((0, 4))
