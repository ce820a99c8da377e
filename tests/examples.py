"""How many examples a property gets: a quarter of them in the edit loop."""

from hypothesis import settings

__all__ = ["examples"]


def examples(count: int) -> settings:
    """Return settings of ``count`` examples, or of the profile's share of them."""
    return settings(max_examples=max(5, count * settings().max_examples // 100))
