"""Tests of fred_hw.certificate.writing."""

import pytest

from fred_hw.certificate.refutation import formula
from fred_hw.certificate.rup import first_gap
from fred_hw.certificate.writing import certify_switch, certify_wafer, refutation
from fred_hw.compiler.exact import EffortError
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.load import load_spec
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import compile_strategy

from .certificates import EXAMPLES, HARD, of_switch


def test_no_clause_of_a_proof_can_be_left_out() -> None:
    found = refutation([Flow(*sides) for sides in HARD], 32, 2, max_conflicts=1000)
    clauses, proof = formula(HARD, found["clique"], 32, 2), found["proof"]
    assert first_gap(clauses, proof) is None
    for index in range(len(proof)):
        assert first_gap(clauses, proof[:index] + proof[index + 1 :]) is not None


def test_flows_with_a_routing_have_no_refutation() -> None:
    with pytest.raises(ValueError, match=r"^flows must be in conflict, not \[0\] -> \[1\]$"):
        refutation([Flow([0], [1])], 4, 2, max_conflicts=1000)


def test_a_search_that_is_too_short_gives_no_certificate() -> None:
    with pytest.raises(EffortError):
        of_switch([Flow(*sides) for sides in HARD], "big-64", max_conflicts=0, middle_switches=2)


def test_other_strategies_are_refused() -> None:
    message = "^strategy must be of MP, DP and PP only in a certificate, not MP2-DP2-PP1-CP2$"
    strategy = Strategy.parse("MP2-DP2-PP1-CP2")
    with pytest.raises(ValueError, match=message):
        certify_switch(load_spec("demo-8"), strategy, {}, max_conflicts=0)


def test_phases_that_endpoints_execute_are_refused() -> None:
    wafer = load_wafer(str(EXAMPLES / "wafer-4.yaml"))
    program = compile_strategy(wafer, Strategy.parse("MP4-DP1-PP1"), 1 << 16, collectives="ring")
    with pytest.raises(ValueError, match=r"^collectives must be in-network, not ring$"):
        certify_wafer(program)
