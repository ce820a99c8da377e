"""Inputs that are almost right: values of a kind like these, and texts with bytes broken."""

import json
from typing import Any

import yaml
from hypothesis import strategies as st

from perfmodel.topology.files import KINDS as TOPOLOGIES

__all__ = ["NUMBERS", "TEXTS", "VALUES", "broken", "documents"]

# Values that programs stumble over, among those that they expect.
NUMBERS = st.one_of(
    st.integers(-3, 70),
    st.integers(),
    st.sampled_from([2**31, 2**53, 10**30, 10**400, -(10**18), 10**9, 65536, 4096, 1000]),
    st.floats(),
    st.sampled_from([5e-324, 1e-300, 1e300, 1.7e308, 0.0, -0.0, 1e24, 1e12, 0.5, float("nan")]),
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        (
            *("", "\x1b[2J", "\0", "\ud800", "../..", "x.json", "=1+1", "a" * 5000, "1e999"),
            *("auto", *TOPOLOGIES, "ring", "switch", "l1-12", "MP1-DP1-PP1"),
            *(
                "stationary",
                "MP0-DP1-PP1",
                "MP2-DP5-PP2",
                "streaming",
                "measured",
                "ideal",
                "fp16",
                "sum",
                "int8",
            ),
        )
    ),
)
_LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def _changed(draw: st.DrawFn, base: Any) -> Any:
    """Draw a value that is like another one but for some parts."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    if isinstance(base, dict):
        data = dict(base)
        for _ in range(draw(st.integers(0, 2))):
            kind = draw(st.integers(0, 3))
            key = draw(st.sampled_from(sorted(data))) if data else "kind"
            if kind == 0:
                data.pop(key, None)
            elif kind == 1:
                data[draw(TEXTS)] = draw(VALUES)
            else:
                data[key] = draw(_changed(data.get(key)))
        return data
    if isinstance(base, list) and base:
        data = list(base)
        place = draw(st.integers(0, len(data) - 1))
        data[place] = draw(_changed(data[place]))
        return data * draw(st.sampled_from([1, 1, 1, 0, 2]))
    return draw(_LEAVES)


@st.composite
def broken(draw: st.DrawFn, text: bytes) -> bytes:
    """Draw a text with some bytes removed, repeated or replaced."""
    data = bytearray(text)
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 12)))
        piece = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from([bytes(data[begin:end]) * n for n in (0, 2, 50, 1000)]),
                st.sampled_from(
                    b"{ [ ] } : - ? & * ! | > % @ ` <<: &a *a !!int !!set --- ... # ' \" \t".split()
                ),
            )
        )
        data[begin:end] = piece
    return bytes(data)


def documents(bases: list[Any]) -> st.SearchStrategy[bytes]:
    """Return a strategy of files like these, as JSON, which YAML contains, or with bytes broken."""
    said = [json.dumps(base, indent=1).encode() for base in bases]
    plain = [yaml.safe_dump(base).encode() for base in bases]
    whole = st.one_of([_changed(base) for base in bases]).map(_dump)
    return st.one_of(whole, *[broken(text) for text in (*said, *plain)])


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")
