"""Bytes on links of a run, for tests."""

from perfmodel.run_figures import Figures

__all__ = ["carried"]


def carried(found: Figures) -> dict[str, float]:
    """Return the bytes of the classes of links that carry any [B]."""
    return {name: count for name, count in (found.link_bytes or {}).items() if count}
