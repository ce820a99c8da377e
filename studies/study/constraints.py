"""Constraints of a study: expressions over fields, evaluated by simpleeval."""

import ast
import math
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError
from fred_hw.optional import needed

__all__ = ["Constraint", "parse_constraint"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}

_MAX_CHARACTERS = 1000


@dataclass(frozen=True)
class Constraint:
    """An expression that is true or false of a point.

    Parameters
    ----------
    text : str
        As in the study file.
    source, field : str
        Where it stands, for error lines.
    names : tuple of str
        Fields that it names.
    """

    text: str
    source: str
    field: str
    names: tuple[str, ...]
    _tree: ast.expr
    _evaluator: Any

    def check_names(self, known: Collection[str]) -> None:
        """Fail if the constraint uses a name that no point has.

        Raises
        ------
        InputError
            A name is unknown.
        """
        for name in self.names:
            if name not in known:
                suggestion = did_you_mean(name, known)
                message = f"must name fields of a point, not {name!r}{suggestion}"
                raise InputError(self.source, self.field, message)

    def holds(self, value_of: Callable[[str], Any]) -> bool:
        """Return whether a point satisfies the constraint.

        Parameters
        ----------
        value_of : callable
            Returns the value of a field, or None where a point lacks the field.

        Raises
        ------
        InputError
            The expression cannot be evaluated, or is neither true nor false.
        """
        simpleeval: Any = import_module("simpleeval")

        def named(node: ast.Name) -> Any:
            return value_of(node.id)

        self._evaluator.names = named
        try:
            found = self._evaluator.eval(self.text, previously_parsed=self._tree)
        except _failures(simpleeval) as error:
            message = f"must be an expression that can be evaluated, not {self.text!r} ({error})"
            raise InputError(self.source, self.field, message) from None
        if not isinstance(found, bool):
            message = f"must be true or false, not {found!r:.60} as {self.text!r}"
            raise InputError(self.source, self.field, message)
        return found


def parse_constraint(text: str, source: str, field: str) -> Constraint:
    """Return the constraint in a text.

    Raises
    ------
    InputError
        The text is no expression, or uses more than names, numbers, texts, operators and the
        functions of this module; or simpleeval is not installed.
    """
    with needed("simpleeval", "studies", "fred-hw[study]"):
        simpleeval: Any = import_module("simpleeval")
    if len(text) > _MAX_CHARACTERS:
        message = f"must have at most {_MAX_CHARACTERS:,} characters, not {len(text):,}"
        raise InputError(source, field, message)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)  # such as a number that ends in a name
            body = ast.parse(text.strip(), mode="eval").body
        tree = _Fields().visit(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        message = f"must be an expression such as npus == mp * dp * pp, not {text!r}"
        raise InputError(source, field, message) from None
    names: dict[str, None] = {}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript):
            raise InputError(source, field, f"must name fields by dotted paths, not {text!r}")
        if isinstance(node, ast.Name) and id(node) not in called:
            names[node.id] = None
    evaluator = simpleeval.EvalWithCompoundTypes(functions=dict(_FUNCTIONS))
    return Constraint(text, source, field, tuple(names), tree, evaluator)


class _Fields(ast.NodeTransformer):
    """Rewriter of names such as ``topology.l1[0].npus`` to one name, ``topology.l1.0.npus``.

    Attributes and items of values are thus never looked up by the evaluator.
    """

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        inner = self.visit(node.value)
        return _name(inner, node.attr) or ast.Attribute(inner, node.attr, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        inner, index = self.visit(node.value), node.slice
        number = index.value if isinstance(index, ast.Constant) else None
        is_index = isinstance(number, int) and not isinstance(number, bool)
        found = _name(inner, str(number)) if is_index else None
        return found or ast.Subscript(inner, index, node.ctx)


def _failures(simpleeval: Any) -> tuple[type[Exception], ...]:
    """Return the exceptions that an evaluation may raise."""
    return (simpleeval.InvalidExpression, ArithmeticError, RecursionError, TypeError, ValueError)


def _name(inner: Any, last: str) -> ast.Name | None:
    return ast.Name(f"{inner.id}.{last}", ast.Load()) if isinstance(inner, ast.Name) else None
