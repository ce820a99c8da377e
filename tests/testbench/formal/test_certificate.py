"""Tests of testbench.formal.certificate."""

import pytest

from testbench.formal.certificate import clear_in_each_case, invariant_holds
from testbench.formal.engine import Cube
from testbench.formal.netlist import Graph

# Two registers that toggle: 00, 11, 00, ...; 01 and 10 are bad.
FIRST, SECOND = 2, 4
TOGGLE = Graph(
    inputs=0,
    registers=(FIRST ^ 1, SECOND ^ 1),
    bad=(10,),
    constraints=(),
    gates=((FIRST, SECOND), (FIRST ^ 1, SECOND ^ 1), (7, 9)),
    ports={},
)


@pytest.mark.parametrize(
    ("excluded", "holds"),
    [
        ((((0, 0), (1, 1)), ((0, 1), (1, 0))), True),
        ((((0, 0), (1, 1)),), False),  # contains a bad state
        ((((0, 0), (1, 1)), ((0, 1), (1, 0)), ((0, 1), (1, 1))), False),  # is left by a step
        ((((0, 0),),), False),  # excludes the initial state
    ],
    ids=["inductive", "bad-state", "not-inductive", "initial-state"],
)
def test_invariant_is_initial_inductive_and_safe(excluded: tuple[Cube, ...], holds: bool) -> None:
    assert invariant_holds(TOGGLE, excluded) is holds


def test_constraint_excludes_steps() -> None:
    """A register takes an input that a constraint holds at 0."""
    free, held = (Graph(1, (2,), (4,), constraints, (), {}) for constraints in ((), (3,)))
    until_violation = (((0, 1), (1, 0)),)
    assert not invariant_holds(free, until_violation)
    assert not invariant_holds(held, (((0, 1),),))
    assert invariant_holds(held, until_violation)


def test_cases_are_clear_if_none_has_a_bad_state() -> None:
    never, some, excluded = (
        Graph(2, (), (bad,), constraints, ((2, 3), (2, 5)), {})
        for bad, constraints in ((6, ()), (8, ()), (8, (3,)))
    )
    assert clear_in_each_case(never, (2, 4))
    # Bad only if the first input is 1 and the second one 0: the third of four cases.
    assert not clear_in_each_case(some, (2, 4))
    assert clear_in_each_case(excluded, (2, 4))
    # Registers have any value, not the initial 0 alone.
    assert not clear_in_each_case(Graph(1, (4,), (4,), (), (), {}), (2,))
