"""Layout of generated Verilog: comments, line breaks and constants, which change no value."""

import re
from collections.abc import Mapping
from textwrap import wrap

from fred_hw.unit import Unit

from .contract import WIDTH, comment, header, port_texts

__all__ = ["commented", "laid_out"]

_MODULE = re.compile(r"^module (\w+)\b.*?^endmodule\n", re.DOTALL | re.MULTILINE)
_PORT = re.compile(r"^  (?:input|output) .*?(\w+);$")
_LONG = re.compile(rf"^(?! *//)(?=.{{{WIDTH + 1}}})( *)(\S.*)$", re.MULTILINE)
# Yosys breaks lists of ports where it likes, so lines may begin with a comma.
_HEADER = re.compile(r"^(module \w+)\(([^)]*)\);", re.MULTILINE)
# Yosys writes all digits of a constant; in ours, the digits of wide ones are zero.
_ZEROS = re.compile(rf"('s?h)0{{{WIDTH // 2},}}(?=[0-9a-f])")


def laid_out(verilog: str) -> str:
    """Return Verilog with at most 100 characters in a line, except in words that are longer.

    Lines are broken at spaces alone, so no token changes, except constants with more than fifty
    leading zeros, which Verilog adds to the digits that are left.
    """
    return _LONG.sub(_broken, _HEADER.sub(_header, _ZEROS.sub(r"\1", verilog)))


def _header(found: re.Match[str]) -> str:
    """Return the begin of a module, in a line with its ports if they fit."""
    ports = ", ".join(re.findall(r"\w+", found[2]))
    line = f"{found[1]}({ports});"
    return line if len(line) <= WIDTH else "\n".join([f"{found[1]}(", *_wrapped(ports), ");"])


def _broken(found: re.Match[str]) -> str:
    """Return a long line in several, of which the further ones are indented by four more."""
    first, *more = _wrapped(found[2], found[1])
    return "\n".join([first, *(f"    {line}" for line in more)])


def _wrapped(text: str, indent: str = "    ") -> list[str]:
    """Return text in lines with an indent."""
    width = WIDTH - len(indent) - 4
    found = wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}{line}" for line in found]


def commented(verilog: str, units: Mapping[str, Unit]) -> str:
    """Return the modules of units with their contracts, and descriptions at their ports."""
    return _MODULE.sub(lambda found: _commented(found[0], units[found[1]]), verilog)


def _commented(module: str, unit: Unit) -> str:
    """Return a module with comments; a text that several ports have is at the first of them."""
    texts, lines, last = port_texts(unit), header(unit), ""
    for line in module.split("\n"):
        if port := _PORT.match(line):
            text = texts.get(port[1], "")
            if text and text != last:
                lines += comment(text, "  ")
            last = text
        lines.append(line)
    return "\n".join(lines)
