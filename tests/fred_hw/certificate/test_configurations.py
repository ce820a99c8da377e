"""Tests of fred_hw.certificate.configurations."""

import random

import pytest

from fred_hw.certificate.configurations import CertificateError, check_set
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.compiler.shape import configuration_width
from fred_hw.compiler.tracing import arriving

from .certificates import of_word


def disjoint_flows(ports: int, rng: random.Random) -> list[Flow]:
    """Return random flows that are disjoint in inputs and in outputs."""
    sides = [rng.sample(range(ports), ports) for _ in range(2)]
    flows: list[Flow] = []
    while all(sides):
        flows.append(
            Flow(*([side.pop() for _ in range(rng.randint(1, len(side)))] for side in sides))
        )
    return flows[: rng.randint(1, len(flows))]


@pytest.mark.parametrize(("ports", "middle_switches"), [(2, 2), (3, 3), (5, 2), (8, 3), (11, 4)])
def test_words_connect_what_the_golden_model_says(ports: int, middle_switches: int) -> None:
    rng, routed = random.Random(ports), 0
    for _ in range(30):
        result = route(disjoint_flows(ports, rng), ports, middle_switches)
        if result.configuration is None:
            continue
        routed += 1
        sums = arriving(result.configuration, range(ports))
        groups = {ins: [out for out in range(ports) if sums[out] == ins] for ins in sums if ins}
        flows = [Flow(sorted(ins), outs) for ins, outs in groups.items()]
        word = result.configuration.pack()
        assert sorted(flows) == sorted(result.flows)
        assert check_set(of_word(word, flows, ports, middle_switches), "flows")
        with pytest.raises(CertificateError, match=r"endpoint \d+ gets the sum of"):
            check_set(of_word(word, flows[1:], ports, middle_switches), "flows")
    assert routed > 5


@pytest.mark.parametrize(
    ("word", "ports", "flow", "said"),
    [
        (0b0111, 2, Flow([0, 1], [0]), "switch output 0 gets a sum that its neighbour does not"),
        (1 << 4, 2, Flow([0], [0]), "switch: the word has bits beyond the last micro-switch"),
        (1, 4, Flow([0], [0]), "endpoint 0 gets the sum of (), not of (0,)"),
        (1 << configuration_width(4, 2) - 8, 4, Flow([0], [0]), "switch output 0 gets no data"),
        (1 << 8, 4, Flow([0], [0]), "endpoint 0 gets the sum of (), not of (0,)"),
        (1 << 16 | 1 << 8, 4, Flow([0], [0]), "switch.middle_0 input 0 gets no data"),
        (1 << 16 | 3 << 8 | 1, 4, Flow([0], [0]), "switch.middle_0 input 1 gets no data"),
        (1 << 16 | 1 << 8 | 3, 4, Flow([0], [0]), "switch.middle_0 input 0 gets no data"),
        (1 << 16 | 1 << 8 | 1 | 1 << 6, 4, Flow([0], [0]), "switch input 3 takes part in no flow"),
        (1 << 16 | 5 << 8 | 1, 4, Flow([0], [0]), "switch.middle_0 output 1 takes part in no flow"),
    ],
)
def test_words_without_meaning_are_refused(word: int, ports: int, flow: Flow, said: str) -> None:
    with pytest.raises(CertificateError) as error:
        check_set(of_word(word, [flow], ports, 2), "flows")
    assert said in str(error.value)


def test_a_loop_and_a_long_chain_are_refused() -> None:
    units = {f"u{k}": {"ports": 2, "middle_switches": 2} for k in range(40)}
    joints = [[f"u{k}.1", f"u{k + 1}.0"] for k in range(39)]
    flows = [{"inputs": [0], "outputs": [1]}]
    words = dict.fromkeys(units, "0x4")  # input 0 to output 1
    data = {
        "units": units,
        "links": joints,
        "endpoints": ["u0.0", "u39.1"],
        "sets": {"flows": {"flows": flows, "words": words}},
    }
    with pytest.raises(CertificateError, match="crosses more than 16 units"):
        check_set(data, "flows")
    data["endpoints"][1] = "u15.1"
    data["links"] = joints[:15]
    data["sets"]["flows"]["words"] = {f"u{k}": "0x4" for k in range(16)}
    assert check_set(data, "flows") == "1 flows, 16 units"
    data["links"] = [["u0.0", "u1.1"], ["u0.1", "u1.0"]]
    data["endpoints"] = ["u2.0", "u0.1"]
    data["sets"]["flows"]["words"] = {"u0": "0x4", "u1": "0x4"}
    with pytest.raises(CertificateError, match="output 1 gets no data"):
        check_set(data, "flows")
