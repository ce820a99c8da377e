"""Tests of fred_hw.certificate.trace."""

import random

import pytest

from fred_hw.certificate.trace import CertificateError, outputs
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.compiler.shape import configuration_width
from fred_hw.compiler.tracing import arriving


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
def test_outputs_get_what_the_golden_model_gives(ports: int, middle_switches: int) -> None:
    rng, routed = random.Random(ports), 0
    for _ in range(30):
        result = route(disjoint_flows(ports, rng), ports, middle_switches)
        if result.configuration is None:
            continue
        routed += 1
        got = outputs(result.configuration.pack(), ports, middle_switches)
        assert [frozenset(one) for one in got] == arriving(result.configuration, range(ports))
        wanted = {out: flow.inputs for flow in result.flows for out in flow.outputs}
        assert [tuple(sorted(one)) for one in got] == [wanted.get(k, ()) for k in range(ports)]
    assert routed > 5


@pytest.mark.parametrize(
    ("word", "ports", "said"),
    [
        (0b1101, 2, "rd: an incomplete reduction"),
        (1 << 4, 2, "the word has bits beyond the last micro-switch"),
        (1, 4, "middle_0.rd: the data of inputs [0] reaches no output"),
        (1 << configuration_width(4, 2) - 8, 4, "output 0: wrong code 1"),
        (3, 4, "input 0: wrong code 3"),
        (1 << 8, 4, "middle_0.rd: an output without data"),
        (1 << 8 | 1, 4, "middle_0: the data of output 0 is not used"),
    ],
)
def test_words_without_meaning_are_refused(word: int, ports: int, said: str) -> None:
    with pytest.raises(CertificateError) as error:
        outputs(word, ports, 2)
    assert str(error.value) == said
