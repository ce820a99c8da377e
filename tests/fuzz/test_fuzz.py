"""A minute of what `make fuzz` does for longer."""

import pytest

from tests.fuzz.fuzz import fuzz
from tests.fuzz.targets import TARGETS


@pytest.mark.slow
def test_no_input_ends_in_anything_but_a_line() -> None:
    ran = fuzz(1_000_000, 60, 1000)
    assert {*ran} == {*TARGETS}
