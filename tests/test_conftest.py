"""Tests of what all tests share."""

import os

import pytest


@pytest.mark.sim
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="runs in this process alone")
def test_tests_of_one_model_stay_on_one_worker(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("dist", "no") == "loadgroup":
        assert request.node.nodeid.endswith("@test_conftest")
