"""What commands that co-simulate share: the benches, which an installation may lack."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError

__all__ = ["check_tests", "load_testbench", "simulating"]

_BENCHES = {
    "interconnect": ("testbench.benches.tb_interconnect",),
    "switch": (
        "testbench.benches.tb_switch",
        "testbench.benches.tb_switch_registers",
        "testbench.benches.tb_switch_link",
        "testbench.benches.tb_switch_measures",
    ),
}


def check_tests(names: tuple[str, ...], level: str) -> None:
    """Refuse names of tests that benches lack; they can only be imported inside a simulator."""
    known: list[str] = []
    for module in _BENCHES[level]:
        bench = find_spec(module)
        assert bench is not None and bench.origin is not None
        tree = ast.parse(Path(bench.origin).read_text(encoding="utf-8"))
        known += [
            node.name
            for node in tree.body
            if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list
        ]
    for name in names:
        if name not in known:
            raise InputError("--test", "", f"must be one of {', '.join(known)}, not {name!r}")


def load_testbench(simulator: str) -> tuple[Any, tuple[str, ...]]:
    """Import the co-simulation, which an installation may lack; return it and the simulators.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        from testbench.cosimulation import interconnect as cosimulation
        from testbench.sim import runner
    except ImportError as error:
        message = f"must be installed for co-simulation: pip install 'fred-hw[sim]' ({error})"
        raise InputError("cocotb", "", message) from None
    import logging

    logging.getLogger("Verilator").setLevel(logging.ERROR)
    logging.getLogger("Icarus").setLevel(logging.ERROR)
    return cosimulation, runner.SIMULATORS if simulator == "both" else (simulator,)


@contextmanager
def simulating() -> Iterator[None]:
    """Turn a simulator that is missing or fails into an error line."""
    from testbench.sim.tools import SimulatorError

    try:
        yield
    except SimulatorError as error:
        raise InputError("--sim", "", str(error)) from None
