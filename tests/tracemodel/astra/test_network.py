"""Tests of tracemodel.astra.network: addresses, delays and ways."""

import pytest

from perfmodel.topology.block import BlockKind
from tracemodel.astra.network import Dimension, Network

MIB = 1 << 20


def one(kind: BlockKind) -> Network:
    return Network([Dimension(kind, 16, 50, 500)])


STACKED = Network(
    [
        Dimension("ring", 2, 200, 50),
        Dimension("fully_connected", 8, 100, 500),
        Dimension("switch", 4, 50, 2000),
    ]
)


def test_inner_dimension_is_fastest() -> None:
    assert STACKED.npus == 64
    assert STACKED.address(47) == (1, 7, 2)


@pytest.mark.parametrize(
    ("network", "ends", "delay_ns"),
    [
        (one("ring"), (1, 4), 21_031),
        (one("fully_connected"), (1, 4), 20_031),
        (one("switch"), (1, 4), 20_531),
        (STACKED, (0, 1), 4_932),
        (STACKED, (37, 41), 10_265),
        (one("ring"), (4, 1), 21_031),
        (one("ring"), (1, 15), 20_531),
    ],
)
def test_delay_of_a_mebibyte(network: Network, ends: tuple[int, int], delay_ns: int) -> None:
    assert network.delay_ns(*ends, MIB) == delay_ns


def test_a_message_to_itself_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^source and target must be two NPUs, not 3 both$"):
        STACKED.delay_ns(3, 3, 1)
    with pytest.raises(ValueError, match=r"^dimensions must be one or more, not none$"):
        Network([])


def test_way_goes_through_all_dimensions() -> None:
    # 37 is (1, 2, 2) and 11 is (1, 5, 0): no link of the ring, one between two, two of a switch.
    assert list(STACKED.route(37, 11)) == [(1, 33, 2, 5), (2, 11, 2, -1), (2, 11, -1, 0)]
    assert list(one("ring").route(1, 14)) == [(0, 0, 1, 0), (0, 0, 0, 15), (0, 0, 15, 14)]
    assert list(STACKED.route(5, 5)) == []
