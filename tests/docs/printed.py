"""Values that the commands of a page print, to compare the page with."""

from collections.abc import Callable
from typing import Any

__all__ = ["Printed", "like"]

Printed = Callable[..., Any]
"""Runs a command behind `fred`, and returns its JSON."""


def like(cell: str, value: float) -> str:
    """Return a value with the decimals of a figure of a page."""
    return f"{value:,.{len(cell.partition('.')[2])}f}"
