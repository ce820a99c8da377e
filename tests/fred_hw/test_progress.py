"""Tests of fred_hw.progress."""

import pytest

from fred_hw.progress import count, listening, parts, track


def test_nobody_listens_to_what_is_tracked() -> None:
    items = [1, 2]
    assert track(items, "items") is items
    count("units", 3)


def test_whoever_listens_is_told_how_many_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fred_hw.progress._EVERY_S", -1.0)
    told: list[tuple[str, int, int | None, int]] = []
    with listening(lambda *what: told.append(what)):
        assert list(track("abc", "letters")) == ["a", "b", "c"]
        count("units", 7)
        count("units", 8, 9)
    letters = [("letters", n, 3, int(n < 3)) for n in range(4)]
    assert told == [*letters, ("units", 7, None, 0), ("units", 8, 9, 0)]


def test_parts_that_are_not_alike_are_told_with_their_sizes() -> None:
    told: list[tuple[str, int, int | None, int]] = []
    with parts("bits", 7) as begin:
        begin(7)  # nobody listens
    with listening(lambda *what: told.append(what)), parts("bits", 7) as begin:
        begin(2)
        begin(5)
        assert list(track([1], "within")) == [1]
    assert told == [("bits", 0, 7, 2), ("bits", 2, 7, 5), ("bits", 7, 7, 0)]
    assert track([1], "after") == [1]


def test_parts_may_have_names() -> None:
    told: list[tuple[str, int, int | None, int]] = []
    with listening(lambda *what: told.append(what)), parts("steps", 7) as begin:
        begin(2, "links")
        begin(5, "strategies")
    names = ["steps, links", "steps, strategies", "steps"]
    assert told == list(zip(names, (0, 2, 7), (7, 7, 7), (2, 5, 0), strict=True))


def test_what_is_within_is_told_until_the_first_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fred_hw.progress._EVERY_S", -1.0)
    told: list[str] = []
    with listening(lambda what, *_: told.append(what)):
        for _ in track([1, 2], "outer"):
            for _ in track([3, 4], "inner"):
                count("units", 1)
    inner = "inner of the first of 2 outer"
    units = "units of the first of 2 inner"
    assert told == ["outer", inner, units, inner, inner, "outer", "outer"]


def test_what_is_alone_is_not_named_around_what_is_within() -> None:
    told: list[tuple[str, int, int | None]] = []
    with listening(lambda what, done, total, _: told.append((what, done, total))):
        for _ in track([1], "outer"):
            count("units", 1)
        with parts("bits", 7) as begin:
            begin(2)
            count("units", 2)
            begin(5)
            count("units", 3)
    within = [(what, done) for what, done, _ in told if what.startswith("units")]
    assert within == [("units", 1), ("units of the first 2 of 7 bits", 2)]


def test_a_loop_that_is_left_is_no_longer_tracked() -> None:
    told: list[str] = []
    with listening(lambda what, *_: told.append(what)):
        broken = iter(track([1, 2], "left"))
        next(broken)
        del broken
        assert list(track([1], "next")) == [1]
    assert "next" in told
    assert track([1], "after") == [1]
