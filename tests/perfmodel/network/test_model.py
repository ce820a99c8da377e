"""Tests of perfmodel.network.model: network models by name."""

import pytest

from fred_hw.errors import InputError
from perfmodel.network.model import NETWORK_MODELS, find_model
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import shared_topology


def test_models_are_listed_in_order() -> None:
    assert [*NETWORK_MODELS] == ["fluid", "packet", "unaware", "aware", "loggops", "roce"]


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        find_model("fluids")
    names = "fluid, packet, unaware, aware, loggops, roce"
    assert str(caught.value) == (
        f"network_model: must be one of {names}, not 'fluids'; did you mean 'fluid'?"
    )


def test_the_default_is_fluid() -> None:
    wafer = shared_topology("fred-c")
    default = run_collective(wafer, "all_reduce", 1e6)
    fluid = run_collective(wafer, "all_reduce", 1e6, network_model="fluid")
    assert default == fluid and default.network_model == "fluid"


@pytest.mark.parametrize("name", ["unaware", "aware"])
def test_messages_that_join_or_fork_are_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        run_collective(shared_topology("fred-d"), "all_reduce", 1e6, None, None, "published", name)
    assert str(caught.value) == (
        "network_model: must be fluid or packet for messages that join or fork in switches"
    )


@pytest.mark.parametrize("name", ["unaware", "aware"])
def test_auto_takes_an_algorithm_that_the_model_can_time(name: str) -> None:
    found = run_collective(shared_topology("fred-d"), "all_reduce", 1e6, None, None, "auto", name)
    assert found.algorithm_name not in ("published", "in_network")


def test_a_model_without_topologies_is_refused() -> None:
    message = (
        r"^network_model: must be fluid, packet, unaware, aware or roce for a topology, not "
        r"loggops, which takes GOAL schedules and traces$"
    )
    with pytest.raises(InputError, match=message):
        run_collective(shared_topology("fred-c"), "all_reduce", 1e6, None, None, "auto", "loggops")
