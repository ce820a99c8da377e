"""Tests of fred_hw.member: one statement declares a member."""

import pydoc
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.member import Bundle, declared, member, members, members_of
from fred_hw.unit import Unit

WORD = data.StructLayout({"low": 2, "high": 3})


class Pair(Bundle):
    """A word and its answer."""

    word: data.View = member(Out, WORD)
    """The word."""
    answer = member(In, lambda width: width)
    """Its answer."""


class Base(Unit):
    """Has the members of all."""

    first = member(In, 1)
    """The first, in
    two lines."""
    second = member(Out, 2)
    """The second."""

    def __init__(self, width: int = 4, count: int = 2) -> None:
        self.width, self.count = width, count
        self.unit_name = "base"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.comb += self.second.eq(self.first)


class Whole(Base):
    """Has members of each kind."""

    plain = member(In, unsigned(3))
    """A signal."""
    sized = member(Out, lambda u: u.width, init=lambda u: u.width)
    """As wide as said."""
    pairs: list[Pair] = member(In, lambda u: Pair.signature(u.width), array=lambda u: u.count)
    """Several."""
    words: stream.Interface = member(Out, stream.Signature(8))
    """A stream."""
    rare = member(In, 1, when=lambda u: u.count > 1)
    """Not in all."""
    numbered = members(lambda u: {f"n{k}": In(k + 1) for k in range(u.count)})
    """One for each."""


class Placed(Base):
    """Has a member before one of its base, and replaces another."""

    own = member(In, 1)
    """Its own."""
    first = Base.first
    second = member(Out, 3)
    """Wider."""


def test_members_have_the_types_shapes_and_order_of_their_statements() -> None:
    found = members_of(Whole, Whole(5, 3))
    pair = In(Pair.signature(5)).array(3)
    assert list(found.items()) == [
        ("first", In(1)),
        ("second", Out(2)),
        ("plain", In(unsigned(3))),
        ("sized", Out(5, init=5)),
        ("pairs", pair),
        ("words", Out(stream.Signature(8))),
        ("rare", In(1)),
        ("n0", In(1)),
        ("n1", In(2)),
        ("n2", In(3)),
    ]
    one = Whole(5, 3)
    assert isinstance(one.plain, Signal) and len(one.pairs[2].answer) == 5
    assert isinstance(one.pairs[0].word, data.View)


def test_layout_is_a_shape_though_it_can_be_called() -> None:
    assert members_of(Pair, 4)["word"].shape == WORD


def test_missing_member_is_no_attribute() -> None:
    one = Whole(count=1)
    assert "rare" not in one.signature.members and not hasattr(one, "rare")
    message = r"^Whole of these sizes has no member rare$"
    with pytest.raises(AttributeError, match=message):
        _ = one.rare


def test_subclass_places_and_replaces_members_of_its_base() -> None:
    found = members_of(Placed, Placed())
    assert list(found.items()) == [("own", In(1)), ("first", In(1)), ("second", Out(3))]
    texts = [one.description for one in declared(Placed).values()]
    assert texts == ["Its own.", "The first, in two lines.", "Wider."]


def test_two_members_of_one_name_are_refused() -> None:
    class Twice(Base):
        """Has n0 twice."""

        n0 = member(In, 1)
        many = members(lambda u: {"n0": In(1)})

    with pytest.raises(
        ValueError, match=r"^members of Twice must have different names, not \['n0'\]$"
    ):
        Twice()


def test_help_shows_descriptions() -> None:
    text = pydoc.plain(pydoc.render_doc(Whole))
    assert "sized = As wide as said." in text and "first = The first, in two lines." in text


def test_string_behind_anything_else_describes_nothing() -> None:
    class Other(Bundle):
        """Has no description of its member."""

        value: Any = member(In, 1)

        def method(self) -> None:
            """Describe the method."""

    assert declared(Other)["value"].description == ""
