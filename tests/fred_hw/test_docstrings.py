"""Tests of fred_hw.docstrings."""

from fred_hw.docstrings import parameters, summary


class _Base:
    """Hold things.

    Parameters
    ----------
    a, b : int
        Both, in ``units`` [B],
        on two lines.
    c : str
        One that the subclass says anew.

    Raises
    ------
    d : no parameter
        Of another section.
    """


class _Derived(_Base):
    """Hold more things.

    Parameters
    ----------
    c : list of str
        Anew.
    peak-perf : float
        A key that is no name.
    """


class _Silent(_Base):
    pass


def test_parameters_are_those_of_the_section_in_one_line_each() -> None:
    both = "Both, in `units` [B], on two lines."
    said = "One that the subclass says anew."
    assert parameters(_Base) == {"a": both, "b": both, "c": said}
    key = {"peak-perf": "A key that is no name."}
    assert parameters(_Derived) == {"a": both, "b": both, "c": "Anew."} | key
    assert parameters(_Silent) == parameters(_Base)
    assert parameters(object) == {}


def test_summary_is_the_first_paragraph() -> None:
    assert summary(_Base) == "Hold things."
    assert summary(_Derived) == "Hold more things."
    assert summary(_Silent) == ""
