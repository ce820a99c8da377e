"""What tests of synthesis share."""

import pytest

from tests.kept_designs import keep_designs


@pytest.fixture(autouse=True)
def kept_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take designs that are synthesized from those that are kept: many want the smallest."""
    keep_designs(monkeypatch)
