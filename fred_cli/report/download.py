"""Tables that a page can save."""

from urllib.parse import quote

__all__ = ["download"]


def download(table: str) -> str:
    """Return an address that holds a table, which is CSV."""
    return "data:text/csv;charset=utf-8," + quote(table)
