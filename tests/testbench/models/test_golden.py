"""Tests of testbench.models.golden."""

import random

import numpy as np
import pytest

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.spec import SwitchSpec
from testbench.models.golden import deliver, lanes_of, walk, word_of
from testbench.stimulus.traffic import routed_random_flows


def union(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
    assert not a & b, "a contribution came twice"
    return a | b


@pytest.mark.parametrize("ports", [2, 3, 4, 5, 7, 8, 12, 21, 33, 64])
@pytest.mark.parametrize("middle_switches", [2, 3, 5])
def test_routed_flows_deliver_the_union_of_their_inputs(ports: int, middle: int) -> None:
    rng = random.Random(ports * 10 + middle)
    spec = SwitchSpec(ports=ports, middle_switches=middle)
    for _ in range(5):
        flows, configuration = routed_random_flows(rng, spec)
        want: list[frozenset[int] | None] = [None] * ports
        for flow in flows:
            for port in flow.outputs:
                want[port] = frozenset(flow.inputs)
        assert walk(configuration, [frozenset([port]) for port in range(ports)], union) == want


def test_a_reduction_that_lacks_an_input_delivers_nothing() -> None:
    configuration = route([Flow([0, 1, 2], [0, 3])], 4, 3).configuration
    assert configuration is not None
    assert walk(configuration, [1, 2, 3, 4], int.__add__) == [6, None, None, 6]
    assert walk(configuration, [1, None, 3, 4], int.__add__) == [None] * 4


def test_the_number_of_inputs_is_checked() -> None:
    with pytest.raises(ValueError, match=r"^inputs must be 4 in number, not 3$"):
        walk(Configuration.idle(4, 3), [1, 2, 3], int.__add__)


def test_sums_are_taken_in_the_order_of_the_tree() -> None:
    spec = SwitchSpec(ports=4, lanes=1)
    configuration = route([Flow(range(4), [0])], 4, 3).configuration
    assert configuration is not None
    values = [np.float16(2048), np.float16(1), np.float16(1), np.float16(1)]
    flits = [np.array([value]).view(np.uint16) for value in values]
    got = deliver(spec, configuration, flits)[0]
    assert got is not None
    # (2048 + 1) rounds to 2048, (1 + 1) does not round: 2050; one by one it would stay 2048
    assert got.view(np.float16)[0] == 2050


def test_lanes_and_words_are_the_same_bits() -> None:
    spec = SwitchSpec(ports=4, lanes=3)
    word = 0x1234_5678_9ABC
    assert lanes_of(word, spec).tolist() == [0x9ABC, 0x5678, 0x1234]
    assert word_of(lanes_of(word, spec), spec) == word
