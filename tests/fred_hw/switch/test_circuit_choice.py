"""Contract of fred_hw.switch.circuit_choice."""

import re
from typing import Any

import pytest

from fred_hw.switch.circuit_choice import CircuitChoice
from fred_hw.virtual_channels import DEFAULT_CHANNELS
from tests.fred_hw.simulation import trace

VALUES = {f"values[{c}]": 5 + c for c in range(3)}


@pytest.mark.parametrize("phase", range(3))
@pytest.mark.parametrize("unicast", range(3))
def test_throughput_is_a_choice_of_phase_or_unicast_every_cycle_without_latency(
    phase: int, unicast: int
) -> None:
    both = VALUES | {"phase": 1 << phase, "unicast": unicast}
    watch = ["circuit", "of_phase", "of_unicast"]
    found = trace(
        CircuitChoice(width=3, channels=DEFAULT_CHANNELS), [both, both | {"online": 1}], watch
    )
    assert found == [(phase, 5 + phase, 5 + unicast), (unicast, 5 + phase, 5 + unicast)]


@pytest.mark.parametrize(
    ("width", "kind", "text"),
    [
        (0, ValueError, "CircuitChoice width must be 1 or more, not 0"),
        (True, TypeError, "CircuitChoice width must be an integer, not True"),
    ],
)
def test_bad_parameters_are_refused(width: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        CircuitChoice(width=width, channels=DEFAULT_CHANNELS)
