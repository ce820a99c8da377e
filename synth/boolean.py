"""Truth tables of cell library functions."""

import re
from collections.abc import Sequence

__all__ = ["truth_table"]

_TOKEN = re.compile(r"\s*([A-Za-z_][\w\[\]]*|[01()!'*&+|^])")


def truth_table(function: str, inputs: Sequence[str]) -> tuple[bool, ...] | None:
    """Return the values of ``function`` for all ``inputs``; the first changes fastest.

    Operators are those of Liberty: ``!`` and ``'`` negate, ``*``, ``&`` and nothing between two
    operands are AND, ``^`` is XOR, ``+`` and ``|`` are OR. Returns None for anything else.
    """
    tokens = _TOKEN.findall(function)
    if "".join(tokens) != re.sub(r"\s", "", function):
        return None
    rows = []
    for row in range(1 << len(inputs)):
        values = {name: bool(row >> index & 1) for index, name in enumerate(inputs)}
        reader = _Reader(tokens, values | {"0": False, "1": True})
        try:
            rows.append(reader.alternatives())
        except (IndexError, KeyError, RecursionError):
            return None
        if reader.tokens:
            return None
    return tuple(rows)


class _Reader:
    """Recursive parser that evaluates tokens from left to right by precedence."""

    def __init__(self, tokens: Sequence[str], values: dict[str, bool]) -> None:
        self.tokens, self.values = list(tokens), values

    def alternatives(self) -> bool:
        value = self._differences()
        while self.tokens and self.tokens[0] in "+|":
            self.tokens.pop(0)
            value |= self._differences()
        return value

    def _differences(self) -> bool:
        value = self._products()
        while self.tokens and self.tokens[0] == "^":
            self.tokens.pop(0)
            value ^= self._products()
        return value

    def _products(self) -> bool:
        value = self._operand()
        while self.tokens and self.tokens[0] not in ")+|^":
            if self.tokens[0] in "*&":
                self.tokens.pop(0)
            value &= self._operand()
        return value

    def _operand(self) -> bool:
        token = self.tokens.pop(0)
        if token == "!":
            return not self._operand()
        if token == "(":
            value = self.alternatives()
            if self.tokens.pop(0) != ")":
                raise KeyError(token)
        else:
            value = self.values[token]
        while self.tokens and self.tokens[0] == "'":
            self.tokens.pop(0)
            value = not value
        return value
