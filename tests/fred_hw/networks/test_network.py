"""Tests of fred_hw.networks: a switch around each network, and what it says of the network."""

import random

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.control.phase_entry import entry_bits, entry_word
from fred_hw.control.switch_map import switch_map
from fred_hw.datapath.network import network, network_latency_cycles
from fred_hw.networks.network import NETWORKS
from fred_hw.spec import SwitchSpec
from fred_hw.switch.network_paths import matching, tracer
from testbench.models.golden import walk
from testbench.stimulus.traffic import routed_random_flows

CROSSBAR = SwitchSpec(ports=5, network="crossbar", lanes=1)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("ports", [2, 3, 5, 8])
def test_inputs_arrive_as_in_the_golden_model(name: str, ports: int) -> None:
    rng, spec = random.Random(ports), SwitchSpec(ports=ports, network=name)
    for _ in range(20):
        flows, configuration = routed_random_flows(rng, spec)
        # Some inputs of a flow may send nothing: then the flow brings nothing.
        sending = {port for flow in flows for port in flow.inputs if rng.random() < 0.9}
        sent = [frozenset({k}) if k in sending else None for k in range(ports)]
        expected = [one or frozenset() for one in walk(configuration, sent, frozenset.union)]
        assert NETWORKS[name].arriving(configuration, sending) == expected


@pytest.mark.parametrize("name", NETWORKS)
def test_configuration_word_is_that_of_the_hardware(name: str) -> None:
    spec = SwitchSpec(ports=5, network=name, lanes=1)
    units = network(spec), tracer(spec), matching(spec)
    assert {len(unit.configuration) for unit in units} == {spec.configuration_width}
    assert network_latency_cycles(spec) == (11 if name == "fred" else 9)
    described = NETWORKS[name].manifest(spec)["configuration"]
    assert described["width"] == spec.configuration_width
    one = NETWORKS[name].route([Flow([0, 4], [1])], spec)
    assert (one.status, one.conflict) == ("routed", ())
    assert 0 < one.configuration.pack() < 1 << spec.configuration_width


def test_entry_has_the_word_of_the_network_and_refuses_that_of_another_one() -> None:
    flows = [Flow([0, 2], [1, 3]), Flow([4], [4])]
    configuration = NETWORKS["crossbar"].route(flows, CROSSBAR).configuration
    word = entry_word(CROSSBAR, configuration, flows, 1)
    assert word & (1 << 25) - 1 == configuration.pack() == 0b10000_00101_00000_00101_00000
    assert word >> entry_bits(CROSSBAR) == 0
    with pytest.raises(ValueError, match=r"^configuration must be of m3_p5, not of crossbar_p5$"):
        entry_word(CROSSBAR.with_changes(network="fred"), configuration, flows, 1)
    with pytest.raises(ValueError, match=r"^configuration must bring output 1 inputs \[0, 3\]"):
        entry_word(CROSSBAR, configuration, [Flow([0, 3], [1, 3]), flows[1]], 1)


def test_middle_switches_have_no_effect_on_a_crossbar() -> None:
    assert CROSSBAR.with_changes(middle_switches=7) == CROSSBAR
    assert CROSSBAR.name == "fred_crossbar_p5_fp16x1"
    shape = switch_map(CROSSBAR).register("SHAPE")
    assert shape.field("middle_switches").value == 0


def test_network_is_said_only_if_it_is_not_the_usual_one() -> None:
    assert CROSSBAR.model_dump()["network"] == "crossbar"
    assert "network" not in SwitchSpec(ports=4).model_dump()
    assert SwitchSpec.model_validate(CROSSBAR.model_dump()) == CROSSBAR


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": "torus"}, "network\\n  must be one of fred, crossbar, not 'torus'"),
        ({"only": {"one": "0x1"}}, "only: must be left out with network crossbar"),
    ],
)
def test_wrong_networks_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CROSSBAR.with_changes(**changes)
