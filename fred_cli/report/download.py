"""Tables that a page can save."""

from urllib.parse import quote

__all__ = ["download"]


def download(table: str) -> str:
    """Return a data URL that contains a table as CSV."""
    return "data:text/csv;charset=utf-8," + quote(table)
