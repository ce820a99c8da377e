"""Attention in .onnx graphs that is expressed as products, transpositions and a softmax.

Exporters write a block of attention as follows; factors may be on the scores, or on queries and
keys::

    query, key, value -> Reshape to heads -> Transpose
    scores = MatMul(query, transposed key) * 1/sqrt(size) [+ mask]
    MatMul(Softmax(scores), value) -> Transpose -> Reshape to channels
"""

from collections.abc import Mapping, Sequence
from math import isclose, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from fred_hw.errors import InputError
from perfmodel.repurpose.arrays import Array

__all__ = ["with_attention"]

_HIDDEN = -1e4
"""Largest number of a mask that hides a token: its power vanishes in single precision. Exporters
write numbers of this size or minus infinity."""


class _Heads(NamedTuple):
    """A value split into heads: its source, number and size of heads, axes, and a factor."""

    value: str
    heads: int
    size: int
    axes: tuple[int, ...]
    factor: float


class _Graph:
    """Nodes by the values that they produce and take."""

    def __init__(self, nodes: Sequence[Any], constants: Mapping[str, Array]) -> None:
        self._constants = constants
        self._maker = {name: node for node in nodes for name in node.output}
        self._users: dict[str, list[Any]] = {}
        for node in nodes:
            for name in node.input:
                self._users.setdefault(name, []).append(node)

    def maker(self, name: str, *kinds: str) -> Any | None:
        """Return the producer of a value if it has a given type and no other user."""
        node = self._maker.get(name)
        if node is None or len(self._users[name]) > 1 or node.op_type not in kinds:
            return None
        return node

    def user(self, node: Any, kind: str) -> Any | None:
        """Return the only user of a value if it has a given type."""
        users = self._users.get(node.output[0], [])
        return users[0] if len(users) == 1 and users[0].op_type == kind else None

    def constant(self, name: str) -> Array | None:
        """Return a constant tensor of the file."""
        return self._constants.get(name)

    def scaled(self, name: str) -> tuple[str, float]:
        """Return the source of a value without its constant factors, and their product."""
        factor = 1.0
        while (node := self.maker(name, "Mul", "Div")) is not None:
            numbers = [self.constant(one) for one in node.input]
            place = 1 if numbers[1] is not None else 0
            number = numbers[place]
            if number is None or number.size != 1 or (node.op_type == "Div" and not place):
                break
            one = float(number.reshape(()))
            if not one or not isfinite(one):
                break
            factor *= one if node.op_type == "Mul" else 1 / one
            name = node.input[1 - place]
        return name, factor

    def heads(self, name: str) -> _Heads | None:
        """Return a value as heads, skipping transpositions and factors."""
        axes, factor = (0, 1, 2, 3), 1.0
        while True:
            name, more = self.scaled(name)
            factor *= more
            node = self.maker(name, "Transpose")
            if node is None:
                break
            given = [one.ints for one in node.attribute if one.name == "perm"]
            if not given or len(given[0]) != 4:
                return None
            axes = tuple(given[0][one] for one in axes)
            name = node.input[0]
        node = self.maker(name, "Reshape")
        shape = None if node is None else self.constant(node.input[1])
        if node is None or shape is None or shape.size != 4:
            return None
        if not ((shape[2:] >= 1) & (shape[2:] < np.inf)).all():
            return None
        return _Heads(node.input[0], int(shape[2]), int(shape[3]), axes, factor)

    def mask(self, node: Any) -> tuple[str, Array | None, str]:
        """Return of a sum the name of the value, and the tensor of the file with its name."""
        place = 1 if self.constant(node.input[1]) is not None else 0
        name = node.input[place]
        return node.input[1 - place], self.constant(name), name


def _is_causal(mask: Array) -> bool | None:
    """Return whether a mask hides all later tokens, or none; None if it hides others."""
    if not mask.any():
        return False
    mask = np.squeeze(mask)
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return None
    future = np.triu(np.ones(mask.shape, dtype=bool), 1)
    hides = bool((mask[future] <= _HIDDEN).all()) and not mask[~future].any()
    return hides or None


def with_attention(
    onnx: Any, nodes: Sequence[Any], constants: Mapping[str, Array], source: str
) -> list[Any]:
    """Return the nodes of a graph, with each block of attention as one node ``Attention``.

    Parameters
    ----------
    onnx : object
        The library.
    nodes : sequence of object
        Its nodes, each after those that make what it takes.
    constants : mapping
        Tensors of the file by name. Those of masks may be infinite.
    source : str
        Name of the file.

    Raises
    ------
    InputError
        A mask hides other tokens than all later ones.
    """
    graph, made = _Graph(nodes, constants), dict[str, Any]()
    for node in nodes:
        if node.op_type == "Softmax" and (found := _attention(onnx, graph, node, source)):
            made[found.output[0]] = found
    replaced = [made.get(node.output[0], node) if node.output else node for node in nodes]
    # Remove nodes whose outputs only replaced nodes used.
    before, taken = {name for one in nodes for name in one.input}, set[str]()
    kept: list[Any] = []
    for node in reversed(replaced):
        if any(name in taken or name not in before for name in node.output):
            kept.append(node)
            taken.update(node.input)
    return kept[::-1]


def _attention(onnx: Any, graph: _Graph, softmax: Any, source: str) -> Any | None:
    """Return a node for the block of attention around a softmax; None if there is no such block."""
    name, mask_factor = graph.scaled(softmax.input[0])
    factor, mask, mask_name = mask_factor, np.zeros(1), ""
    added = graph.maker(name, "Add")
    if added is not None:
        name, given, mask_name = graph.mask(added)
        if given is None:
            return None
        mask = given
        name, more = graph.scaled(name)
        factor *= more
    scores = graph.maker(name, "MatMul")
    product = graph.user(softmax, "MatMul")
    if scores is None or product is None:
        return None
    turned = graph.user(product, "Transpose")
    output = None if turned is None else graph.user(turned, "Reshape")
    query, key, value = (graph.heads(one) for one in (*scores.input, product.input[1]))
    axis = [one.i for one in softmax.attribute if one.name == "axis"] or [-1]
    if (
        turned is None
        or output is None
        or query is None
        or key is None
        or value is None
        or axis[0] not in (-1, 3)
    ):
        return None
    back = [tuple(one.ints) for one in turned.attribute if one.name == "perm"]
    shape = graph.constant(output.input[1])
    same = {(one.heads, one.size) for one in (query, key, value)} == {(query.heads, query.size)}
    scale = factor * query.factor * key.factor
    fits = (
        same
        and query.axes == value.axes == (0, 2, 1, 3)
        and key.axes == (0, 2, 3, 1)
        and back == [(0, 2, 1, 3)]
        and shape is not None
        and shape.size == 3
        and value.factor == 1.0
        and isclose(scale, 1 / sqrt(query.size), rel_tol=1e-3)
    )
    if not fits:
        return None
    causal = _is_causal(mask_factor * mask)
    if causal is None:
        message = "must be a mask of attention that hides all later tokens and no others, with"
        raise InputError(source, mask_name, f"{message} numbers of {_HIDDEN:g} or less")
    return onnx.helper.make_node(
        "Attention",
        [query.value, key.value, value.value],
        [output.output[0]],
        name=softmax.name,
        q_num_heads=query.heads,
        kv_num_heads=query.heads,
        is_causal=int(causal),
    )
