"""Tests of perfmodel.collectives.themis.run."""

from perfmodel.collectives.themis.run import Queuing


def test_orders_of_themis_are_smallest_first_unless_told_otherwise() -> None:
    assert Queuing("themis").intra_name == Queuing("themis_flex").intra_name == "scf"
    assert Queuing("dimension_order").intra_name == Queuing("round_robin").intra_name == "fifo"
    assert Queuing("themis", intra="fifo").intra_name == "fifo"
