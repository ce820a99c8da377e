"""Second moments of a layer's inputs, and the least-squares refit of kept weights."""

from dataclasses import dataclass

import numpy as np

from .arrays import Array, Floats, Indices, Mask

__all__ = ["Moments", "refit"]

_ITERATIONS = 40
"""Largest number of refit steps; every step reduces the error, so fewer give a weaker refit."""

_TOLERANCE = 1e-3
"""Gradient, relative to the first gradient, at which a refit is complete."""


@dataclass(frozen=True)
class Moments:
    """Statistics of a layer's inputs on calibration data that determine squared errors.

    Parameters
    ----------
    matrix : array
        The scaled samples X where they are fewer than the inputs, ``X^T X`` otherwise.
    second : array
        Mean square of each input, the diagonal of ``X^T X``.
    """

    matrix: Floats
    second: Floats

    @classmethod
    def of(cls, rows: Array) -> "Moments":
        """Return the moments of inputs, one row for each sample."""
        scaled = rows / np.sqrt(len(rows))
        second = np.square(scaled).sum(axis=0)
        if len(rows) < rows.shape[1]:
            return cls(scaled, second)
        return cls(scaled.T @ scaled, second)

    def times(self, change: Floats) -> Floats:
        """Return the matrix product ``change X^T X``."""
        if self.matrix.shape[0] < self.matrix.shape[1]:
            return (change @ self.matrix.T) @ self.matrix
        return change @ self.matrix

    def of_inputs(self, columns: Indices) -> "Moments":
        """Return the moments of a subset of the inputs."""
        part, second = self.matrix[:, columns], self.second[columns]
        if self.matrix.shape[0] >= self.matrix.shape[1]:
            return Moments(part[columns], second)
        return Moments(part if len(part) < len(columns) else part.T @ part, second)

    def error(self, change: Array) -> float:
        """Return the mean squared output of ``change`` (row x input), summed over rows."""
        return max(0.0, float(np.sum(change * self.times(change))))


def refit(weights: Array, keep: Mask, moments: Moments, groups: Indices) -> Array:
    """Return the kept weights with the least squared error of each row's output.

    The result is found by conjugate gradients on many rows at once, starting from the given
    weights, and on the inputs that some of these rows keep. No output gets a larger error than
    without the refit.

    Parameters
    ----------
    weights : array
        Row x input.
    keep : array
        Whether each weight is kept.
    moments : Moments
        Moments of the inputs.
    groups : array
        Group of each row: rows of a worker keep many of the same inputs.
    """
    found = np.where(keep, weights, 0.0)
    rows = np.flatnonzero(~keep.all(axis=1) & keep.any(axis=1))
    # Single precision halves the time, and is precise enough for a refit.
    single = Moments(moments.matrix.astype(np.float32), moments.second.astype(np.float32))
    for own in _apart(rows, keep, groups):
        columns = np.flatnonzero(keep[own].any(axis=0))
        change = (weights[own] - found[own]).astype(np.float32)
        kept = keep[np.ix_(own, columns)].astype(np.float32)
        residual = single.times(change)[:, columns] * kept
        found[np.ix_(own, columns)] += _solved(residual, kept, single.of_inputs(columns))
    return found


def _apart(rows: Indices, keep: Mask, groups: Indices) -> list[Indices]:
    """Return the rows to refit together: groups that keep few inputs, and all others at once."""
    parts = [rows[groups[rows] == group] for group in np.unique(groups[rows])]
    few = [2 * np.count_nonzero(keep[own].any(axis=0)) < keep.shape[1] for own in parts]
    others = [own for own, alone in zip(parts, few, strict=True) if not alone]
    together = [np.concatenate(others)] if others else []
    return [own for own, alone in zip(parts, few, strict=True) if alone] + together


def _solved(residual: Floats, kept: Floats, moments: Moments) -> Floats:
    """Return the correction of kept weights, by conjugate gradients from a residual."""
    inverse = kept / np.maximum(moments.second, np.finfo(np.float32).tiny)
    direction = inverse * residual
    product = np.einsum("ij,ij->i", residual, direction)
    end = _TOLERANCE**2 * product
    added = np.zeros_like(residual)
    for _ in range(_ITERATIONS):
        forward = moments.times(direction)
        curvature = np.einsum("ij,ij->i", direction, forward)
        open_rows = (product > end) & (curvature > 0)
        if not open_rows.any():
            break
        step = np.divide(product, curvature, out=np.zeros_like(product), where=open_rows)
        added += step[:, None] * direction
        forward *= kept
        forward *= step[:, None]
        residual -= forward
        weighted = inverse * residual
        after = np.einsum("ij,ij->i", residual, weighted)
        ratio = np.divide(after, product, out=np.zeros_like(product), where=open_rows)
        direction *= ratio[:, None]
        direction += weighted
        product = after
    return added
