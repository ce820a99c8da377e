"""Recommendation models: embedding tables and multilayer perceptrons."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.files import int_range, one_of

from .file import KINDS, Count, WorkloadFile
from .layers import Layer, Network, Operator

__all__ = ["DlrmFile", "dlrm"]

INDEX_BYTES = 4


def dlrm(
    dense: int,
    bottom: Sequence[int],
    tables: Sequence[int],
    lookups: Sequence[int],
    embedding: int,
    top: Sequence[int],
) -> Network:
    """Return a recommendation model, Naumov et al., arXiv 1906.00091.

    Dense features pass a perceptron, the rows that a sample looks up in each table are added up,
    all pairs of the resulting vectors are multiplied, and the inputs of a second perceptron are
    these products and the output of the first one. An expert group shares the tables: each NPU
    looks up the rows for all samples of the group in its part, and an all-to-all brings every
    sample its vectors, and their gradients back (ibid., section 5.1). If fewer than all replicas
    share them, gradients of whole tables are reduced, whether rows were used or not. Samples are
    FP32 features and indices of four bytes.

    Parameters
    ----------
    dense : int
        Number of dense features.
    bottom : sequence of int
        Output widths of the layers of the first perceptron, the last of them ``embedding``.
    tables : sequence of int
        Rows of each embedding table.
    lookups : sequence of int
        Rows that a sample looks up in each table.
    embedding : int
        Numbers in a row of a table.
    top : sequence of int
        Output widths of the layers of the second perceptron.
    """
    vectors = len(tables) + 1
    pairs = vectors * (vectors - 1) // 2
    read, found = sum(lookups) * embedding, len(tables) * embedding
    rows = sum(tables) * embedding
    look_up = Operator("tables", "embedding", read, rows, read + found, shared=True, sparse=True)
    multiply = Operator(
        "pairs", "matmul", 2 * vectors**2 * embedding, 0, vectors * embedding + pairs
    )
    both = vectors * embedding
    return Network(
        (
            _perceptron("bottom", [dense, *bottom], bottom[-1]),
            # The output of the bottom network bypasses the tables.
            Layer("tables", (look_up,), both, found, all_to_alls=1, all_to_all_numbers=found),
            Layer("interaction", (multiply,), pairs + embedding, both),
            _perceptron("top", [pairs + embedding, *top], top[-1]),
        ),
        input_bytes=4 * dense + INDEX_BYTES * sum(lookups),
    )


def _perceptron(name: str, sizes: Sequence[int], output: int) -> Layer:
    operators: list[Operator] = []
    for number, (a, b) in enumerate(pairwise(sizes)):
        operators.append(Operator(f"{name} {number}", "matmul", 2 * a * b, a * b + b, a + b))
        operators.append(Operator(f"{name} {number} ReLU", "elementwise", b, 0, 2 * b))
    return Layer(name, tuple(operators), output, sum(sizes[:-1]) + sum(sizes[1:]))


_Sizes = Annotated[list[Count], Field(min_length=1, max_length=100)]
_Tables = Annotated[list[Count], Field(min_length=1, max_length=10_000)]


class DlrmFile(WorkloadFile):
    """``kind: dlrm``: a recommendation model of embedding tables and two perceptrons.

    Parameters
    ----------
    dense : int
        Number of dense features.
    bottom : list of int
        Outputs of each layer for the dense features; the last number equals ``embedding``.
    tables : list of int
        Rows of each embedding table. Expert groups divide the tables among themselves.
    lookups : list of int
        Rows that a sample looks up in each table; by default one per table.
    embedding : int
        Numbers in a row of a table.
    top : list of int
        Outputs of each layer after the tables.
    """

    kind: Annotated[str, one_of("dlrm")]
    dense: Annotated[int, int_range(1, 1 << 20)]
    bottom: _Sizes
    tables: _Tables
    lookups: _Tables | None = None
    embedding: Annotated[int, int_range(1, 1 << 20)]
    top: _Sizes

    def network(self, source: str) -> Network:
        lookups = self.lookups or [1] * len(self.tables)
        if len(lookups) != len(self.tables):
            message = f"must have as many entries as tables, which are {len(self.tables)}, "
            raise InputError(source, "lookups", f"{message}not {len(lookups)}")
        if self.bottom[-1] != self.embedding:
            message = f"must end with embedding, which is {self.embedding}, not {self.bottom[-1]}"
            raise InputError(source, "bottom", message)
        return dlrm(self.dense, self.bottom, self.tables, lookups, self.embedding, self.top)


KINDS.add("dlrm", DlrmFile)
