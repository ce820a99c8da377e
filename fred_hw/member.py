"""Members of units and bundles, each declared by one statement in the body of their class."""

import ast
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import TYPE_CHECKING, Any, cast

from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, Member, Signature

if TYPE_CHECKING:
    from amaranth.hdl import Signal
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Signal)

__all__ = ["Bundle", "Declaration", "declared", "member", "members", "members_of"]


class Declaration:
    """Declaration of members, made by :func:`member` or :func:`members`.

    An instance of the class has the signal or interface as an attribute. If its sizes give it no
    such member, reading the attribute raises an AttributeError.

    Parameters
    ----------
    find : callable
        Returns the members by name, given the name of the declaration and the sizes.
    """

    def __init__(self, find: Callable[..., Mapping[str, Member]]) -> None:
        self._find = find

    def __set_name__(self, owner: type, name: str) -> None:
        if not hasattr(self, "owner"):  # another class may place it again
            self.owner, self.name = owner, name

    def __get__(self, instance: object, owner: type) -> "Declaration":
        if instance is not None:  # a member itself would have been found first
            raise AttributeError(f"{owner.__name__} of these sizes has no member {self.name}")
        return self

    def __repr__(self) -> str:
        """Return the description, for ``help``."""
        return self.description

    @property
    def description(self) -> str:
        """The string literal below the declaration, on one line; "" if there is none."""
        return " ".join(_texts(self.owner).get(self.name, "").split())

    def found(self, *sizes: object) -> Mapping[str, Member]:
        """Return the members by name, given the sizes."""
        return self._find(self.name, *sizes)


def member(
    flow: Flow, shape: object, *, array: object = None, init: object = None, when: object = True
) -> "T":
    """Declare a member of a unit or a bundle in the body of its class.

    The name is that of the attribute, the description is the string behind the statement, and the
    type is its annotation, ``Signal`` without one. Each parameter but ``flow`` may be a function of
    the sizes: of the unit itself, or of the arguments of :meth:`Bundle.signature`.

    Parameters
    ----------
    flow : Flow
        ``In`` or ``Out``.
    shape : ShapeLike, Signature or function
        Shape of a signal, or signature of an interface.
    array : int or function, optional
        Length of an array of such members.
    init : value or function, optional
        Value after reset.
    when : bool or function, optional
        Whether there is such a member.
    """

    def find(name: str, *sizes: object) -> dict[str, Member]:
        if not _of(when, sizes):
            return {}
        found = flow(_of(shape, sizes), init=_of(init, sizes))
        return {name: found if array is None else found.array(_of(array, sizes))}

    return cast(Any, Declaration(find))


def members(find: Callable[..., Mapping[str, Member]], *, when: object = True) -> Declaration:
    """Declare members whose names follow from the sizes, under one description.

    Parameters
    ----------
    find : callable
        Returns the members by name, given the sizes as in :func:`member`.
    when : bool or function, optional
        Whether there are such members.
    """
    return Declaration(lambda _, *sizes: find(*sizes) if _of(when, sizes) else {})


def _of(value: object, sizes: tuple[object, ...]) -> Any:
    """Return a value for sizes; layouts can be called too, but are no functions."""
    return value(*sizes) if inspect.isroutine(value) else value


def declared(owner: type) -> dict[str, Declaration]:
    """Return the declarations of a class by name, in the order of their members.

    Those of its bases come first. A subclass places one of a base among its own, or replaces it, by
    assigning it again: ``start = Base.start``.
    """
    found: dict[str, Declaration] = {}
    for base in reversed(owner.__mro__):
        own = {name: one for name, one in vars(base).items() if isinstance(one, Declaration)}
        found = {name: one for name, one in found.items() if name not in own} | own
    return found


def members_of(owner: type, *sizes: object) -> dict[str, Member]:
    """Return the members of a class for sizes, in the order of their declarations.

    Raises
    ------
    ValueError
        Two declarations have a member of one name.
    """
    found: dict[str, Member] = {}
    for one in declared(owner).values():
        more = one.found(*sizes)
        if taken := sorted(found.keys() & more.keys()):
            raise ValueError(f"members of {owner.__name__} must have different names, not {taken}")
        found |= more
    return found


@cache
def _texts(owner: type) -> dict[str, str]:
    """Return the string behind each assignment in the body of a class."""
    found: dict[str, str] = {}
    (tree,) = ast.parse(dedent(inspect.getsource(owner))).body
    for one, behind in pairwise(cast(ast.ClassDef, tree).body):
        match one, behind:
            case (
                ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)),
                ast.Expr(ast.Constant(str(text))),
            ):
                found[name] = text
    return found


class Bundle(wiring.PureInterface):
    """Members that belong together; base of the types of interfaces.

    A unit declares a bundle as a member with the shape ``signature(...)``. Directions are those of
    a unit for which that member is ``Out``.
    """

    @classmethod
    def signature(cls, *sizes: object) -> Signature:
        """Return the signature for sizes, mostly a specification, which the functions take."""
        return Signature(members_of(cls, *sizes))
