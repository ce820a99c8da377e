"""Tests of testbench.faults.fault: each broken unit is one that some bench must notice."""

import pytest

from testbench.faults.fault import every_fault, noticed_by

BENCHES = (
    *("vectors", "interconnect", "control"),
    *("switch", "link", "loaded switch", "loaded fabric", "switch with endpoints"),
    *("mesh", "saturated mesh", "lossy mesh", "link of a mesh", "terminator", "endpoint"),
)
"""Those whose tests ask for their faults."""


def test_every_fault_is_noticed_by_a_bench() -> None:
    named = every_fault().keys()
    assert named == {fault for bench in BENCHES for fault in noticed_by(bench)}
    assert {bench for fault in named for bench in fault.noticed} == {*BENCHES}


@pytest.mark.parametrize("bench", BENCHES)
def test_faults_say_what_is_broken(bench: str) -> None:
    assert noticed_by(bench)
    assert all(fault.disturb.__doc__ for fault in noticed_by(bench))
