"""What all tests share."""

import pytest

from testbench.sim.tools import icarus_bin

WITHOUT_ICARUS = ("test_vectors.py",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, and say so, what needs Icarus where it is missing; Verilator is always there."""
    if icarus_bin() is not None:
        return
    skip = pytest.mark.skip(reason="Debian's package iverilog is not installed")
    for item in items:
        if item.get_closest_marker("sim") and item.path.name not in WITHOUT_ICARUS:
            item.add_marker(skip)
