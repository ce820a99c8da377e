"""Linear constraints on bandwidths, in the notation of users."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

__all__ = ["GB_PER_S", "Constraint", "names_of", "parse_constraint"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<relation><=|>=|==|=)|(?P<sign>[-+])|(?P<times>\*))"
)

GB_PER_S = 1e-9
"""B/s per GB/s."""

_FORM = "like b0 + b1 <= 500"
_LONGEST = 1000
_TERMS = (["number"], ["name"], ["number", "name"], ["number", "times", "name"])

Form = tuple[list[float], float]
"""A linear form: one factor per bandwidth, and a constant."""


class Token(NamedTuple):
    """A token of a text: its kind (a group of the regular expression) and its text."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint: the weighted sum of bandwidths [B/s] is at most, or exactly, a bound.

    Parameters
    ----------
    text : str
        Text of the user; several constraints may come from one text.
    factors : tuple of float
        Factor of the bandwidth of each dimension: 1e-9 for ``b0``, as users write GB/s.
    equal : bool
        Whether the sum must equal the bound.
    bound : float
        The bound, in the units of the text.
    """

    text: str
    factors: tuple[float, ...]
    equal: bool
    bound: float


def names_of(costs: Sequence[float] | None, dimensions: int) -> dict[str, tuple[float, ...]]:
    """Return the names that constraints may use, each with its factors of all bandwidths.

    These are ``b0``, ``b1`` and so on, the innermost dimension first, and their sum ``total``, all
    in GB/s; and ``cost`` in $ if there are prices.
    """
    places = range(dimensions)
    names = {f"b{i}": tuple(GB_PER_S * (i == j) for j in places) for i in places}
    names["total"] = (GB_PER_S,) * dimensions
    if costs is not None:
        names["cost"] = tuple(costs)
    return names


def parse_constraint(
    text: str, names: Mapping[str, Sequence[float]], dimensions: int
) -> tuple[Constraint, ...]:
    """Return the constraints of a text such as ``b0 >= b1 >= 2 b2 + 10``.

    Parameters
    ----------
    text : str
        Two or more linear expressions with ``<=``, ``>=`` or ``=`` between them.
    names : mapping
        Names as returned by ``names_of``.
    dimensions : int
        Number of dimensions of the network.

    Raises
    ------
    ValueError
        The text is not such a constraint.
    """
    sides: list[list[Token]] = [[]]
    relations: list[str] = []
    for token in _tokens(text):
        if token.kind == "relation":
            relations.append(token.text)
            sides.append([])
        else:
            sides[-1].append(token)
    if not relations:
        raise ValueError(f"must be a constraint {_FORM}, not {text!r:.60} without <=, >= or =")
    forms = [_form(side, text, names, dimensions) for side in sides]
    return tuple(
        _between(text, left, relation, right)
        for (left, right), relation in zip(pairwise(forms), relations, strict=True)
    )


def _tokens(text: str) -> list[Token]:
    if len(text) > _LONGEST:
        raise ValueError(f"must have at most {_LONGEST} characters, not {len(text)}")
    found: list[Token] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise ValueError(f"must be a constraint {_FORM}, not {text[place:].strip()!r:.60}")
        found.append(Token(match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return found


def _form(
    tokens: Sequence[Token], text: str, names: Mapping[str, Sequence[float]], dimensions: int
) -> Form:
    """Return the linear form of a sum of signed terms."""
    factors, constant = [0.0] * dimensions, 0.0
    terms: list[tuple[float, list[Token]]] = [(1.0, [])]
    for place, token in enumerate(tokens):
        if token.kind != "sign":
            terms[-1][1].append(token)
        elif place:
            terms.append((-1.0 if token.text == "-" else 1.0, []))
        else:
            terms[0] = (-1.0 if token.text == "-" else 1.0, [])
    for sign, term in terms:
        number, name = _term(term, text, names)
        if name is None:
            constant += sign * number
        else:
            own = zip(factors, names[name], strict=True)
            factors = [before + sign * number * factor for before, factor in own]
    return factors, constant


def _term(
    tokens: Sequence[Token], text: str, names: Mapping[str, Sequence[float]]
) -> tuple[float, str | None]:
    """Return the number and the name of a term, either or both, with or without ``*``."""
    number, name, kinds = 1.0, None, [token.kind for token in tokens]
    if kinds not in _TERMS:
        given = " ".join(token.text for token in tokens) or "nothing"
        raise ValueError(f"must have terms like 2 b0, b0 or 4, not {given!r:.30} in {text!r:.60}")
    for token in tokens:
        if token.kind == "number":
            number = float(token.text)
        elif token.kind == "name":
            name = token.text
            if name not in names:
                known = ", ".join(names)
                raise ValueError(f"must use the names {known}, not {name!r:.30} in {text!r:.60}")
    return number, name


def _between(text: str, left: Form, relation: str, right: Form) -> Constraint:
    """Return the constraint between two linear forms."""
    sign = -1.0 if relation == ">=" else 1.0
    factors = [sign * (a - b) for a, b in zip(left[0], right[0], strict=True)]
    bound = sign * (right[1] - left[1])
    if not any(factors):
        raise ValueError(f"must bound a bandwidth, not {text!r:.60}")
    if not all(map(isfinite, (*factors, bound))):
        raise ValueError(f"must have numbers below 1e308, not {text!r:.60}")
    return Constraint(" ".join(text.split()), tuple(factors), relation in ("=", "=="), bound)
