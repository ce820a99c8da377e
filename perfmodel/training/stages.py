"""Division of layers into pipeline stages."""

from collections.abc import Sequence

__all__ = ["balanced_stages"]


def balanced_stages(costs: Sequence[float], stages: int) -> list[range]:
    """Return consecutive, non-empty ranges of layers that minimise the largest cost.

    Parameters
    ----------
    costs : sequence of float
        Cost of each layer, 0 or more; at least as many as stages.
    stages : int
        Number of stages, 1 or more.
    """
    if stages == 1:
        return [range(len(costs))]
    low, high = max(costs), sum(costs)
    best = _cut(costs, stages, high)
    for _ in range(50):
        middle = (low + high) / 2
        found = _cut(costs, stages, middle)
        if found is None:
            low = middle
        else:
            best, high = found, middle
    assert best is not None
    return best


def _cut(costs: Sequence[float], stages: int, limit: float) -> list[range] | None:
    """Return stages filled up to a cost limit; None if there would be too many."""
    cuts: list[range] = []
    start, total = 0, 0.0
    for i, cost in enumerate(costs):
        left = stages - len(cuts)  # including the stage being filled
        # Leave a layer for each later stage.
        must_end = i > start and len(costs) - i == left - 1
        if i > start and (must_end or total + cost > limit * (1 + 1e-12)):
            cuts.append(range(start, i))
            start, total = i, 0.0
        total += cost
    cuts.append(range(start, len(costs)))
    return cuts if len(cuts) == stages else None
