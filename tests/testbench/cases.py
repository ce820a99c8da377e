"""Cases of which the edit loop runs the first."""

from collections.abc import Mapping
from typing import Any

import pytest

__all__ = ["slow_but_first"]


def slow_but_first(cases: Mapping[str, object], name: str = "spec") -> Any:
    """Return the parameters of a test by their ids, all marked slow but the first."""
    first, *others = cases.items()
    slow = [pytest.param(case, id=text, marks=pytest.mark.slow) for text, case in others]
    return pytest.mark.parametrize(name, [pytest.param(first[1], id=first[0]), *slow])
