"""Cases of which the edit loop runs the first."""

from collections.abc import Mapping
from typing import Any

import pytest

from fred_hw.protocol import CRC_BITS, HEADER_BITS

__all__ = ["payload_share", "slow_but_first"]


def payload_share(rate: float) -> float:
    """Return the part of a link that is payload at a rate in data flits per cycle.

    Flits are the published ones of 512 B, to which a header and a CRC come.
    """
    return rate * 4096 / (4096 + HEADER_BITS + CRC_BITS)


def slow_but_first(cases: Mapping[str, object], name: str = "spec") -> Any:
    """Return the parameters of a test by their ids, all marked slow but the first."""
    first, *others = cases.items()
    slow = [pytest.param(case, id=text, marks=pytest.mark.slow) for text, case in others]
    return pytest.mark.parametrize(name, [pytest.param(first[1], id=first[0]), *slow])
