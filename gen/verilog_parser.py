"""Parser of the generated Verilog subset, for the canonical hash."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = [
    "Instance",
    "Item",
    "Module",
    "Tokens",
    "VerilogError",
    "is_name",
    "parse_module",
    "read_modules",
    "targets",
]

_TOKEN = re.compile(
    r"""
    //[^\n]*|/\*.*?\*/|\(\*(?!\s*\)).*?\*\)   # comments and attributes, which are left out
    |(?P<token>
      "(?:[^"\\\n]|\\.)*"
      |\d*\s*'[sS]?[bodhBODH]\s*[0-9a-fA-FxXzZ?_]+
      |\d+(?:\.\d+)?
      |\\\S+
      |[A-Za-z_$`][\w$]*
      |<<<|>>>|===|!==|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||~&|~\||~\^|\^~|->|\+:|-:
      |\S
    )""",
    re.DOTALL | re.VERBOSE,
)

_SHORT = re.compile(r"((\d+)'s?h)([0-9a-f]+)")

_WORDS = """
    always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign
    default defparam design disable edge else end endcase endconfig endfunction endgenerate
    endmodule endprimitive endspecify endtable endtask event for force forever fork function
    generate genvar highz0 highz1 if ifnone incdir include initial inout input instance integer join
    large liblist library localparam macromodule medium module nand negedge nmos nor
    noshowcancelled not notif0 notif1 or output parameter pmos posedge primitive pull0 pull1
    pulldown pullup pulsestyle_onevent pulsestyle_ondetect rcmos real realtime reg release repeat
    rnmos rpmos rtran rtranif0 rtranif1 scalared showcancelled signed small specify specparam
    strong0 strong1 supply0 supply1 table task time tran tranif0 tranif1 tri tri0 tri1 triand trior
    trireg unsigned use uwire vectored wait wand weak0 weak1 while wire wor xnor xor
"""
_KEYWORDS = frozenset(_WORDS.split())
_KINDS = frozenset({"wire", "reg", "integer", "parameter", "localparam"})
_DIRECTIONS = frozenset({"input", "output", "inout"})
_PARAMETERS = frozenset({"parameter", "localparam"})
_LOOPS = frozenset({"for", "while", "repeat", "wait"})
_CASES = frozenset({"case", "casex", "casez"})
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_NAME = re.compile(r"[A-Za-z_][\w$]*")

Tokens = list[str]


class VerilogError(ValueError):
    """Text is outside the subset of Verilog that is generated."""


@dataclass
class Item:
    """An assignment, a procedural block or an instance.

    Parameters
    ----------
    tokens : list of str
        Its text, in which pins and parameters are numbered.
    drives : list of str
        Nets that get a value from it.
    ordered : bool
        Whether its place among those that drive the same net matters.
    """

    tokens: Tokens
    drives: list[str]
    ordered: bool = False


@dataclass
class Instance:
    """An instance as written.

    Parameters
    ----------
    module : str
        Name of its module.
    parameters, pins : list of (str, list of str)
        The connection of each; the name is empty if the position determines it.
    """

    module: str
    parameters: list[tuple[str, Tokens]]
    pins: list[tuple[str, Tokens]]


@dataclass
class Module:
    """A module as written.

    Parameters
    ----------
    ports, parameters : list of str
        Names, in order.
    declared : dict
        Declarations of each name.
    items : list of Item
        Its contents, without instances.
    instances : list of Instance
        Its instances.
    """

    ports: list[str] = field(default_factory=list[str])
    parameters: list[str] = field(default_factory=list[str])
    declared: dict[str, list[Tokens]] = field(default_factory=dict[str, list[Tokens]])
    items: list[Item] = field(default_factory=list[Item])
    instances: list[Instance] = field(default_factory=list[Instance])

    def directions(self, port: str) -> set[str]:
        """Return the directions in the declarations of a port."""
        return {token for one in self.declared.get(port, ()) for token in one} & _DIRECTIONS


def read_modules(text: str) -> Iterator[tuple[str, Tokens]]:
    """Yield name and tokens of each module, from its name to ``endmodule``."""
    tokens = [found for found in map(_plain, _TOKEN.findall(text)) if found]
    for token in set(tokens):
        if token.startswith(("`", "$readmem")):  # the text is incomplete without other files
            raise VerilogError(f"text must be without {token}")
    begin = 0
    while begin < len(tokens):
        if tokens[begin] != "module":
            raise VerilogError(f"text must consist of modules, not {tokens[begin]!r}")
        try:
            end = tokens.index("endmodule", begin)
        except ValueError:
            raise VerilogError(f"module {tokens[begin + 1]} must end with endmodule") from None
        yield tokens[begin + 1], tokens[begin + 2 : end]
        begin = end + 1


def _plain(token: str) -> str:
    """Return a token in the form for comparison.

    Unnecessary escapes are removed, and constants get the leading zeros that are left out.
    """
    if short := _SHORT.fullmatch(token):
        return f"{short[1]}{short[3].zfill(-(-int(short[2]) // 4))}"
    if token.startswith("\\"):
        name = token[1:]
        return name if _NAME.fullmatch(name) and name not in _KEYWORDS else token
    return token


def is_name(token: str) -> bool:
    """Return whether a token is a name, which hashes do not depend on."""
    return (token[0].isalpha() or token[0] in "_\\") and token not in _KEYWORDS


def parse_module(name: str, tokens: Tokens) -> Module:
    """Return the parsed module."""
    module, at = Module(), 0
    try:
        if tokens[at] == "#":
            end = _closing(tokens, at + 1)
            _declare(module, tokens[at + 2 : end])
            at = end + 1
        if tokens[at] == "(":
            end = _closing(tokens, at)
            _read_header(module, tokens[at + 1 : end])
            at = end + 1
        at += 1  # skip the semicolon
        while at < len(tokens):
            end = _end_of_item(tokens, at)
            _read_item(module, tokens[at:end])
            at = end
    except IndexError:
        raise VerilogError(f"module {name} must not end within a statement") from None
    except VerilogError as error:
        raise VerilogError(f"module {name}: {error}") from None
    return module


def _closing(tokens: Sequence[str], at: int) -> int:
    """Return the position of a bracket's closing bracket."""
    depth = 0
    for place in range(at, len(tokens)):
        if tokens[place] in _OPEN:
            depth += 1
        elif tokens[place] in _CLOSE:
            depth -= 1
            if not depth:
                return place
    raise IndexError


def _split(tokens: Sequence[str]) -> list[Tokens]:
    """Return the parts between commas outside of brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in _OPEN) - (token in _CLOSE)
        if token == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _end_of_item(tokens: Sequence[str], at: int) -> int:
    """Return the position at which the next item of a module starts."""
    if tokens[at] in ("always", "initial"):
        return _end_of_statement(tokens, at + 1)
    if tokens[at] in ("function", "task", "generate", "specify", "defparam", "genvar"):
        raise VerilogError(f"must be without {tokens[at]}")
    return _after(tokens, ";", at)


def _after(tokens: Sequence[str], token: str, at: int) -> int:
    try:
        return tokens.index(token, at) + 1
    except ValueError:
        raise IndexError from None


def _end_of_statement(tokens: Sequence[str], at: int) -> int:
    """Return the position after a statement of a procedural block."""
    token = tokens[at]
    if token == "begin":
        at += 3 if tokens[at + 1] == ":" else 1
        while tokens[at] != "end":
            at = _end_of_statement(tokens, at)
        return at + 1
    if token in _CASES:
        at = _closing(tokens, at + 1) + 1
        while tokens[at] != "endcase":
            at = _end_of_statement(tokens, _end_of_label(tokens, at))
        return at + 1
    if token in ("@", "#"):
        return _end_of_statement(tokens, _end_of_delay(tokens, at))
    if token in _LOOPS:
        return _end_of_statement(tokens, _closing(tokens, at + 1) + 1)
    if token == "if":
        at = _end_of_statement(tokens, _closing(tokens, at + 1) + 1)
        return _end_of_statement(tokens, at + 1) if tokens[at : at + 1] == ["else"] else at
    return _after(tokens, ";", at)


def _end_of_label(tokens: Sequence[str], at: int) -> int:
    """Return the position of the statement after a case label."""
    if tokens[at] == "default":
        return at + 2 if tokens[at + 1] == ":" else at + 1
    while tokens[at] != ":":
        at = _closing(tokens, at) + 1 if tokens[at] in _OPEN else at + 1
    return at + 1


def _end_of_delay(tokens: Sequence[str], at: int) -> int:
    """Return the position after ``@(...)``, ``@*`` or ``#...``."""
    return _closing(tokens, at + 1) + 1 if tokens[at + 1] == "(" else at + 2


def _read_header(module: Module, tokens: Tokens) -> None:
    """Read a list of ports, with or without declarations."""
    head: Tokens = []
    for part in _split(tokens):
        if part[0] in _DIRECTIONS:
            head = _head(part)
            part = part[len(head) :]
        module.ports.append(part[0])
        if head:
            module.declared.setdefault(part[0], []).append([*head, *part[1:]])


def _head(tokens: Tokens) -> Tokens:
    """Return the tokens before the first name of a declaration."""
    at = 0
    while not is_name(tokens[at]):
        at = _closing(tokens, at) + 1 if tokens[at] == "[" else at + 1
    return tokens[:at]


def _declare(module: Module, tokens: Tokens) -> None:
    """Read a declaration; each name gets the common head and the tokens after the name."""
    head: Tokens = []
    for place, part in enumerate(_split(tokens)):
        if not place or part[0] in _PARAMETERS:
            head = _head(part)
            part = part[len(head) :]
        module.declared.setdefault(part[0], []).append([*head, *part[1:]])
        if "parameter" in head:
            module.parameters.append(part[0])


def _read_item(module: Module, tokens: Tokens) -> None:
    first, inside = tokens[0], tokens[:-1]
    if first in _KINDS or first in _DIRECTIONS:
        _declare(module, inside)
    elif first == "assign":
        for part in _split(inside[1:]):
            target = part[: part.index("=")]
            module.items.append(Item(["assign", *part], targets(target)))
    elif first in ("always", "initial"):
        module.items.append(Item(tokens, list(_assigned(tokens)), ordered=True))
    elif first == ";":
        return
    elif is_name(first):
        module.instances.append(_instance(inside))
    else:
        raise VerilogError(f"must be without {first}")


def targets(tokens: Sequence[str]) -> list[str]:
    """Return the names outside of square brackets."""
    found, depth = [], 0
    for token in tokens:
        depth += (token == "[") - (token == "]")
        if not depth and is_name(token):
            found.append(token)
    return found


def _assigned(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the names that a procedural block assigns to.

    A statement begins with its target, after one of a few tokens, and the next ``=`` or ``<=``
    outside of brackets ends the target. A value that is read where a target might begin does no
    harm: a block is then also reached from that net.
    """
    for at, token in enumerate(tokens):
        begins = at and (tokens[at - 1] in _BEFORE_TARGET or tokens[at - 2] == "#")
        if not begins or not (is_name(token) or token == "{"):
            continue
        depth, end = 0, at
        while end < len(tokens) and (depth or tokens[end] not in ("=", "<=", ";")):
            depth += (tokens[end] in _OPEN) - (tokens[end] in _CLOSE)
            end += 1
        yield from targets(tokens[at:end])


_BEFORE_TARGET = frozenset(
    {";", "begin", "end", "else", ")", ":", "initial", "*", "default", "endcase"}
)


def _instance(tokens: Tokens) -> Instance:
    at, parameters = 1, list[tuple[str, Tokens]]()
    if tokens[at] == "#":
        end = _closing(tokens, at + 1)
        parameters = [_pin(part) for part in _split(tokens[at + 2 : end])]
        at = end + 1
    end = _closing(tokens, at + 1)
    if end != len(tokens) - 1:
        raise VerilogError(f"instance {tokens[at]} must end with its pins")
    return Instance(tokens[0], parameters, [_pin(part) for part in _split(tokens[at + 2 : end])])


def _pin(tokens: Tokens) -> tuple[str, Tokens]:
    """Return the name of a pin or parameter, and its value."""
    return (tokens[1], tokens[3:-1]) if tokens[0] == "." else ("", tokens)
