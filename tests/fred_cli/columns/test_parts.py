"""Tests of fred_cli.columns.parts."""

from fred_cli.columns.parts import PARTS
from perfmodel.training.parts import WAITS


def test_tables_and_charts_have_every_part_of_the_model_in_its_order() -> None:
    assert tuple(part.name for part in PARTS) == ("compute", *WAITS)
    assert len({part.colour for part in PARTS}) == len(PARTS)
