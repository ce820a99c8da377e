"""Memory traffic of a matrix product, given the size of the on-chip buffer."""

from math import ceil, isqrt

from perfmodel.constants import NUMBER_BYTES

from .model import Product

__all__ = ["gemm_bytes", "tile"]


def tile(buffer_bytes: float) -> int:
    """Return the side T of the square output tile that fits in a buffer, at least 1.

    Slices of the operands stream past it, so T is sqrt(S/e) for S bytes and numbers of e bytes,
    ``NUMBER_BYTES``.
    """
    return max(1, isqrt(int(buffer_bytes) // NUMBER_BYTES))


def gemm_bytes(product: Product, side: int) -> float:
    """Return the bytes that products move between memory and the buffer [B].

    For each tile of T x T outputs a row of tiles of one operand and a column of the other come
    in: e (M K ceil(N/T) + K N ceil(M/T) + M N) bytes for each product.

    Parameters
    ----------
    product : Product
        M, K, N, and how many.
    side : int
        T.
    """
    m, k, n = product.m, product.k, product.n
    moved = m * k * ceil(n / side) + k * n * ceil(m / side) + m * n
    return product.count * NUMBER_BYTES * moved
