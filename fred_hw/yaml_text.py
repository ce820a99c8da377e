"""Reader of YAML 1.2 with its core schema (yaml.org/spec/1.2.2, chapter 10).

Text, numbers, ``true``, ``false``, ``null``, lists and mappings, and no other tags. PyYAML reads
the syntax, event by event; values are made of its events here. The depth of the nesting and the
values that aliases repeat are counted before a value is made, and before PyYAML reads on: it takes
time quadratic in the depth.
"""

import re
from collections.abc import Hashable
from copy import deepcopy
from functools import lru_cache
from typing import Any, NoReturn

import yaml

from .errors import InputError
from .plain import MAX_DEPTH, MAX_DIGITS, MAX_VALUES, BadTextError, finite, refuse_halves

__all__ = ["parse_yaml"]

_KEPT_CHARACTERS = 1 << 13
"""Largest text whose value is cached; PyYAML takes 0.1 s for this size."""

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def parse_yaml(text: str) -> Any:
    """Return the value of a one-document YAML text; None if it is empty.

    Raises
    ------
    InputError
        It is no such text, or beyond the bounds of this module; names neither source nor field.
    """
    try:
        return deepcopy(_kept(text)) if len(text) <= _KEPT_CHARACTERS else _Builder().build(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", "not readable")
        bad = BadTextError(problem, mark and mark.line + 1)
    except (ValueError, OverflowError):  # such as "\\UFFFFFFFF", or a version of 1000 digits
        bad = BadTextError("a character or a version that does not exist")
    except BadTextError as error:
        bad = error
    raise InputError("", "", f"must be YAML, not text with an error{bad}") from None


@lru_cache(maxsize=32)
def _kept(text: str) -> Any:
    """Return the cached value of a small text."""
    return _Builder().build(text)


class _Builder:
    """Builder of values from the events of a YAML text."""

    def __init__(self) -> None:
        self.values = 0
        self.anchors: dict[str, tuple[Any, int]] = {}
        """Values of anchors by name, with the number of values in each."""

    def build(self, text: str) -> Any:
        """Return the value of the text, or None if there is none."""
        # Open lists and mappings: each with the key that waits for a value, its anchor, and the
        # number of values before it.
        open_: list[tuple[Any, list[Hashable], str | None, int]] = []
        root: Any = None
        documents = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise BadTextError("the file must have only one document", line)
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                value, _, anchor, before = open_.pop()
                if anchor is not None:
                    self.anchors[anchor] = value, self.values - before
                continue
            if not isinstance(event, yaml.NodeEvent):
                continue
            before = self.values
            value = self._value(event, line)
            if open_:
                _put(value, open_[-1][0], open_[-1][1], line)
            else:
                root = value
            if isinstance(event, yaml.CollectionStartEvent):
                if len(open_) == MAX_DEPTH:
                    raise BadTextError(f"values may be nested at most {MAX_DEPTH} deep", line)
                open_.append((value, [], event.anchor, before))
                if event.anchor is not None:
                    self.anchors.pop(event.anchor, None)
            elif isinstance(event, yaml.ScalarEvent) and event.anchor is not None:
                self.anchors[event.anchor] = value, 1
        return root

    def _value(self, event: Any, line: int) -> Any:
        count = 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise BadTextError("an alias must name an anchor whose value ends before it", line)
            value, count = self.anchors[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event, line)
        else:
            is_list = isinstance(event, yaml.SequenceStartEvent)
            if event.tag not in (None, "!", _TAG + ("seq" if is_list else "map")):
                _refuse_tag(event.tag, line)
            value = [] if is_list else {}
        self.values += count
        if self.values > MAX_VALUES:
            raise BadTextError(
                f"there may be at most {MAX_VALUES:,} values, with those of aliases", line
            )
        return value


def _put(value: Any, parent: Any, waiting: list[Hashable], line: int) -> None:
    """Add a value to a list, or to a mapping as a key or as the value of the last key."""
    if isinstance(parent, list):
        parent.append(value)
    elif waiting:
        parent[waiting.pop()] = value
    elif isinstance(value, list | dict):
        raise BadTextError("a key must be text or a number, not a list or a mapping", line)
    elif value == "<<":
        raise BadTextError("mappings cannot be merged, so << must not be a key", line)
    elif value in parent:
        raise BadTextError(f"the key {value!r:.60} must occur only once", line)
    else:
        parent[value] = None  # reserves its position before its value ends
        waiting.append(value)


def _scalar(event: yaml.ScalarEvent, line: int) -> Any:
    """Return the value of a scalar according to the core schema."""
    text, tag = event.value, event.tag
    refuse_halves(text, line)
    plain = event.implicit[0] and tag is None
    if tag is not None and not (tag == "!" or tag.startswith(_TAG)):
        _refuse_tag(tag, line)
    kind = (tag or "").removeprefix(_TAG)
    if kind in ("!", "str") or (not plain and not kind):
        return text
    if kind not in ("", "null", "bool", "int", "float"):
        _refuse_tag(tag, line)
    if len(text) > MAX_DIGITS:
        if plain and not text[0].isdigit() and text[0] not in "-+.":
            return text
        raise BadTextError(f"a number may have at most {MAX_DIGITS:,} digits", line)
    if kind in ("", "null") and _NULL.fullmatch(text):
        return None
    if kind in ("", "bool") and _BOOL.fullmatch(text):
        return text[0] in "tT"
    if kind in ("", "int") and _INT.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text, base)
    if kind in ("", "float") and _FLOAT.fullmatch(text):
        return finite(text, line)
    if kind in ("", "float") and _INFINITE.fullmatch(text):
        return float(text.replace(".", ""))
    if plain:
        return text
    raise BadTextError(f"{text!r:.60} must be a value of the tag !!{kind}", line)


def _refuse_tag(tag: str, line: int) -> NoReturn:
    kinds = "!!str, !!int, !!float, !!bool, !!null, !!seq and !!map"
    raise BadTextError(f"tags are {kinds}, not {tag.replace(_TAG, '!!')!r:.60}", line)
