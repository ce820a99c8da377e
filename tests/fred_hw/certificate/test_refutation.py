"""Tests of fred_hw.certificate.refutation."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from pysat.solvers import Solver

from fred_hw.certificate.configurations import CertificateError, check_set
from fred_hw.certificate.refutation import formula
from fred_hw.compiler.assembly import assemble
from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.shape import split_count
from fred_hw.compiler.sharing import Sharing

from .certificates import of_word
from .test_configurations import disjoint_flows


def satisfiable(
    flows: Sequence[Flow], clique: Sequence[int], ports: int, middle_switches: int
) -> bool:
    sides = [(flow.inputs, flow.outputs) for flow in flows]
    with Solver(bootstrap_with=formula(sides, clique, ports, middle_switches)) as solver:
        return bool(solver.solve())


def routes(word: int, flows: Sequence[Flow], ports: int, middle_switches: int) -> bool:
    """Return whether a configuration word connects the flows."""
    try:
        return bool(check_set(of_word(word, flows, ports, middle_switches), "flows"))
    except CertificateError:
        return False


@pytest.mark.parametrize("seed", range(12))
def test_formula_is_satisfiable_if_some_paths_route_the_flows(seed: int) -> None:
    rng = random.Random(seed)
    flows = disjoint_flows(6, rng)[:5]
    paths = product(product(range(2), repeat=2), repeat=len(flows))
    words = (assemble(flows, own, 6, 2).pack() for own in paths)
    routed = any(routes(word, flows, 6, 2) for word in words)
    assert satisfiable(flows, (), 6, 2) == routed
    for size in (1, 2, 3):
        clique = Sharing(flows, split_count(6)).clique(size, range(len(flows)))
        assert satisfiable(flows, clique, 6, 2) == routed


def words(flows: Sequence[Flow]) -> Iterator[int]:
    """Yield each word of FRED_2(4) in which the ports of flows alone have codes."""
    used = [{port for flow in flows for port in side(flow)} for side in (_inputs, _outputs)]
    sides = [[(1, 2) if port in one else (0,) for port in range(4)] for one in used]
    crossings = [pair for pair in product(range(4), repeat=2) if {*pair} != {1, 3}]
    for ins, outs in product(product(*sides[0]), product(*sides[1])):
        for pairs in product(crossings, repeat=2):
            middle = tuple(Configuration(2, 2, crossing=pair) for pair in pairs)
            yield Configuration(
                *(4, 2, (ins[:2], ins[2:]), None, middle, (outs[:2], outs[2:]), None)
            ).pack()


def _inputs(flow: Flow) -> tuple[int, ...]:
    return flow.inputs


def _outputs(flow: Flow) -> tuple[int, ...]:
    return flow.outputs


@pytest.mark.parametrize(
    ("flows", "routed"),
    [
        pytest.param(
            [Flow([0], [0]), Flow([1, 2], [2]), Flow([3], [1])], False, marks=pytest.mark.slow
        ),
        ([Flow([0], [0]), Flow([1], [2]), Flow([2, 3], [1])], True),
        ([Flow([0, 3], [0, 2]), Flow([1, 2], [1])], True),
    ],
)
def test_no_word_at_all_routes_what_is_refuted(flows: list[Flow], routed: bool) -> None:
    assert any(routes(word, flows, 4, 2) for word in words(flows)) == routed
    assert satisfiable(flows, (), 4, 2) == routed


def test_a_clique_of_flows_apart_is_refused() -> None:
    sides = [((0,), (0,)), ((2,), (2,))]
    for clique, said in (((0, 1), "0 and 1"), ((0, 0), "0 and 0"), ((0, 2), "0 and 2")):
        message = f"^flows {said} of the clique share no micro-switch$"
        with pytest.raises(CertificateError, match=message):
            formula(sides, clique, 4, 2)
