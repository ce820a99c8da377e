"""Tests of studies.readings."""

import pytest

from fred_hw.errors import InputError
from studies.readings import read_readings


def test_a_reading_changes_one_option_or_several() -> None:
    assert read_readings(["compute=weights", "network-model=packet, algorithm=auto"]) == {
        "compute=weights": {"compute": "weights"},
        "network-model=packet, algorithm=auto": {"network_model": "packet", "algorithm": "auto"},
    }
    assert read_readings([]) == {}


NAMES = "compute, algorithm, placement, network_model, energy, endpoint"
OPTIONS = f"OPTION=VALUE with each of {NAMES} once at most"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["compute"], f"must be {OPTIONS}, not 'compute'"),
        (["speed=1"], f"must be {OPTIONS}, not 'speed=1'"),
        (
            ["placement=auto,placement=linear"],
            f"must be {OPTIONS}, not 'placement=auto,placement=linear'",
        ),
        (["placement=up"], "placement must be one of auto, anneal, linear, "),
        (["compute=weights"] * 2, "must have each reading once, not 'compute=weights' twice"),
    ],
    ids=["no-value", "no-option", "option-twice", "value", "twice"],
)
def test_malformed_readings_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_readings(texts)
    assert str(caught.value).startswith(f"reading: {message}")
