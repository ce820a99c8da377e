"""Tests of what all tests share."""

import os

import pytest


@pytest.mark.sim
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="runs in this process alone")
def test_tests_of_one_model_stay_on_one_worker(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("dist", "no") == "loadgroup":
        assert request.node.nodeid.endswith("@tests_test_conftest")


@pytest.mark.long
def test_large_volumes_are_run_where_they_are_asked_for(request: pytest.FixtureRequest) -> None:
    assert "long" in str(request.config.getoption("markexpr"))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("case", range(3))
def test_the_edit_loop_runs_the_first_of_many_cases(
    case: int, request: pytest.FixtureRequest
) -> None:
    alone = len(request.session.items) == 1  # and therefore the first
    assert (request.node.get_closest_marker("slow") is None) == (case == 0 or alone)
