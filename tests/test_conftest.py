"""Tests of what all tests share."""

import os

import pytest


@pytest.mark.sim
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="runs in this process alone")
def test_tests_of_one_model_stay_on_one_worker(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("dist", "no") == "loadgroup":
        assert request.node.nodeid.endswith("@test_conftest")


@pytest.mark.slow_after_first
@pytest.mark.parametrize("case", range(3))
def test_the_edit_loop_runs_the_first_of_many_cases(
    case: int, request: pytest.FixtureRequest
) -> None:
    alone = len(request.session.items) == 1  # and therefore the first
    assert (request.node.get_closest_marker("slow") is None) == (case == 0 or alone)
