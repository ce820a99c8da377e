"""Units of the link take sizes that they can be made for, and no other."""

import pytest

from fred_hw.link.sender import Sender
from fred_hw.switch.ports.output_port import OutputPort
from tests.fred_hw.specs import LINK


@pytest.mark.parametrize("depth", [1, 0])
def test_a_queue_that_cannot_be_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=rf"^Sender depth must be 2 or more, not {depth}$"):
        Sender(spec=LINK, depth=depth)


def test_an_interconnect_without_latency_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^OutputPort latency must be 1 or more, not 0$"):
        OutputPort(spec=LINK, latency=0)
