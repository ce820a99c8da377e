"""Tests of testbench.faults.fault: each broken unit is one that some bench must notice."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from testbench import faults
from testbench.faults.fault import Fault, noticed_by

BENCHES = (
    *("vectors", "interconnect", "control"),
    *("switch", "link", "loaded switch", "loaded fabric", "switch with endpoints"),
    *("mesh", "saturated mesh"),
)
"""Those whose tests ask for their faults."""


def test_every_fault_is_noticed_by_a_bench() -> None:
    modules = [
        import_module(f"{faults.__name__}.{found.name}") for found in iter_modules(faults.__path__)
    ]
    named = {
        value for module in modules for value in vars(module).values() if isinstance(value, Fault)
    }
    assert named == {fault for bench in BENCHES for fault in noticed_by(bench)}
    assert {bench for fault in named for bench in fault.noticed} == {*BENCHES}


@pytest.mark.parametrize("bench", BENCHES)
def test_faults_say_what_is_broken(bench: str) -> None:
    assert noticed_by(bench)
    assert all(fault.disturb.__doc__ for fault in noticed_by(bench))
