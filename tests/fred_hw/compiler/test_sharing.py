"""Tests of fred_hw.compiler.sharing."""

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.shape import split_count
from fred_hw.compiler.sharing import Sharing


def test_a_clique_is_of_flows_that_share_an_input_switch_or_an_output_switch() -> None:
    # Inputs 0 and 1 are of one switch of FRED_m(6), as outputs 4 and 5 are of another.
    flows = [Flow((0,), (2,)), Flow((1,), (4,)), Flow((3,), (0,)), Flow((4,), (5,))]
    sharing = Sharing(flows, split_count(6))
    assert sharing.clique(1, range(4)) == (0,)
    assert sharing.clique(2, range(4)) == (0, 1)
    assert sharing.clique(2, (1, 2, 3)) == (1, 3)
    assert sharing.clique(2, (0, 2, 3)) == ()
    assert sharing.clique(3, range(4)) == ()
