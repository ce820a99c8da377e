"""Tests of fred_hw.control.phase_entry and fred_hw.compiler.tracing."""

import random

import pytest

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.compiler.tracing import arriving
from fred_hw.control.phase_entry import entry_bits, entry_word, phase_fields, phases_that_fit
from fred_hw.spec import SwitchSpec
from testbench.models.golden import walk
from testbench.stimulus.traffic import routed_random_flows

SPEC = SwitchSpec(ports=4)


def routed(*flows: Flow) -> Configuration:
    configuration = route(flows, SPEC.ports, SPEC.middle_switches).configuration
    assert configuration is not None
    return configuration


@pytest.mark.parametrize(("ports", "bits"), [(2, 2), (4, 3), (12, 4)])
def test_entry_numbers_every_flow_and_none(ports: int, bits: int) -> None:
    fields = phase_fields(SwitchSpec(ports=ports))
    assert fields["inputs"] == fields["outputs"] == ports * bits
    assert (1 << bits) > ports


def test_published_memory_holds_28_phases_of_the_largest_l1() -> None:
    # 1.5 KB, 438 bits each: the configuration, and the flow of every input and output.
    assert entry_bits(SwitchSpec(ports=12)) == 438
    assert phases_that_fit(SwitchSpec(ports=12)) == 28


def test_entry_holds_flows_circuit_and_configuration() -> None:
    flows = Flow([0, 1], [2]), Flow([3], [0, 1])
    configuration = routed(*flows)
    word = entry_word(SPEC, configuration, flows, 2)
    width = phase_fields(SPEC)["configuration"]
    assert word & ((1 << width) - 1) == configuration.pack()
    rest = word >> width
    assert [rest >> 3 * k & 7 for k in range(4)] == [1, 1, 0, 2]
    assert [rest >> 12 + 3 * k & 7 for k in range(4)] == [2, 2, 1, 0]
    assert rest >> 24 == 0b110
    assert entry_word(SPEC, configuration, flows, 2, generation=5) >> width + 24 == 0b101_110
    assert entry_word(SPEC, configuration, flows, 2, generation=8 + 5) >> width + 24 == 0b101_110


@pytest.mark.parametrize("generation", [1 << 16, -1])
def test_generation_that_does_not_exist_is_refused(generation: int) -> None:
    with pytest.raises(ValueError, match=f"^generation must be 0 to 65535, not {generation}$"):
        entry_word(SPEC, routed(), [], 0, generation=generation)


@pytest.mark.parametrize(
    ("configured", "flows", "circuit", "message"),
    [
        # It joins two flows: output 2 gets the sum of both.
        (
            [Flow([0, 1], [2])],
            [Flow([0], [2]), Flow([1], [3])],
            0,
            r"configuration must bring output 2 inputs \[0\], not \[0, 1\]",
        ),
        ([Flow([0], [2])], [Flow([0], [2, 3])], 0, r"output 3 inputs \[0\], not \[\]"),
        ([Flow([0], [2, 3])], [Flow([0], [2])], 0, r"output 3 inputs \[\], not \[0\]"),
        ([Flow([0], [2])], [Flow([0], [2]), Flow([0], [3])], 0, "disjoint ports, not port 0"),
        ([Flow([0], [2])], [Flow([0], [2])], 3, "circuit must be 0 to 2, not 3"),
    ],
)
def test_entry_that_is_wrong_is_refused(
    configured: list[Flow], flows: list[Flow], circuit: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        entry_word(SPEC, routed(*configured), flows, circuit)


def test_configuration_of_another_switch_is_refused() -> None:
    configuration = Configuration.idle(5, 3)
    with pytest.raises(ValueError, match=r"^configuration must be of m3_p4, not of m3_p5$"):
        entry_word(SPEC, configuration, [], 0)


@pytest.mark.parametrize("ports", [2, 3, 5, 8, 12])
@pytest.mark.parametrize("middle_switches", [2, 3])
def test_inputs_arrive_as_in_the_golden_model(ports: int, middle_switches: int) -> None:
    rng, spec = random.Random(ports), SwitchSpec(ports=ports, middle_switches=middle_switches)
    for _ in range(20):
        flows, configuration = routed_random_flows(rng, spec)
        sources = [port for flow in flows for port in flow.inputs]
        # Some inputs of a flow may send nothing: then the flow brings nothing.
        sending = {port for port in sources if rng.random() < 0.9}
        sent = [frozenset({k}) if k in sending else None for k in range(ports)]
        expected = walk(configuration, sent, frozenset.union)
        assert arriving(configuration, sending) == [one or frozenset() for one in expected]
