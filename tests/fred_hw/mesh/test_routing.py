"""Interface of fred_hw.mesh.routing."""

import re

import pytest

from fred_hw.mesh.routing import ROUTINGS, Routing


@pytest.mark.parametrize("allowed", [{"wraps": False}, {"wraps": True, "chooses": True}])
def test_two_channels_need_a_torus_whose_sources_do_not_choose(allowed: dict[str, bool]) -> None:
    message = "Two channels must be 1 unless it wraps and sources do not choose, not 2"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        type("Two", (Routing,), {"channels": 2, **allowed})
    assert type("Two", (Routing,), {"channels": 2, "wraps": True})


def test_some_algorithm_has_two_channels() -> None:
    assert any(one.channels == 2 for one in ROUTINGS.values())
