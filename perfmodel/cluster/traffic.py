"""Memory traffic of a matrix product, given the buffer on the chip."""

from math import ceil, isqrt

from perfmodel.constants import NUMBER_BYTES

from .model import Product

__all__ = ["gemm_bytes", "tile"]


def tile(buffer_bytes: float, number_bytes: int = NUMBER_BYTES) -> int:
    """Return the side T of the square of outputs that a buffer holds, at least 1.

    Slices of the operands stream past it, so T is sqrt(S/e) for S bytes and numbers of e bytes.
    """
    return max(1, isqrt(int(buffer_bytes) // number_bytes))


def gemm_bytes(product: Product, side: int, number_bytes: int = NUMBER_BYTES) -> float:
    """Return what the products move between memory and a buffer [B].

    For each tile of T x T outputs a row of tiles of one operand and a column of the other come
    in: e (M K ceil(N/T) + K N ceil(M/T) + M N) bytes for each product.

    Parameters
    ----------
    product : Product
        M, K, N, and how many.
    side : int
        T.
    number_bytes : int
        Bytes of a number, e.
    """
    m, k, n = product.m, product.k, product.n
    moved = m * k * ceil(n / side) + k * n * ceil(m / side) + m * n
    return product.count * number_bytes * moved
