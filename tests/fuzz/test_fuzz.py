"""A minute of what `make fuzz` does for longer, counted in inputs: the same on any machine."""

import pytest

from tests.fuzz.fuzz import fuzz
from tests.fuzz.targets import TARGETS


@pytest.mark.slow
def test_no_input_ends_in_anything_but_a_line() -> None:
    ran = fuzz(20_000, 600, 1000)
    assert {*ran} == {*TARGETS} and ran.total() >= 20_000
