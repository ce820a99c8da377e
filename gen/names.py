"""Plain names for all nets, memories and instances of RTLIL."""

import re
from collections import Counter
from collections.abc import Mapping

from .keywords import KEYWORDS

__all__ = ["with_names"]

_MODULE = re.compile(r"^module \S+\n.*?^end\n", re.DOTALL | re.MULTILINE)
_DEFINED = re.compile(r"^  (?:wire|memory) .*?([\\$]\S+)$|^  cell \\\S+ (\S+)$", re.MULTILINE)
_PORT = re.compile(r"^  wire .*\b(?:input|output) \d+ \\(\S+)$", re.MULTILINE)
_CELL = re.compile(r"^  cell (\S+) (\S+)\n(.*?)^  end$", re.DOTALL | re.MULTILINE)
_PIN = re.compile(r"^    connect \\(\S+) (.*)$", re.MULTILINE)
_JOIN = re.compile(r"^  connect (\{[^}]*\}|\S+(?: \[\S+\])?) (.*)$", re.MULTILINE)
_MEMORY = re.compile(r'parameter \\MEMID "\\(\S+)"')
_PLAIN = re.compile(r"\\[A-Za-z_]\w*")
_NAME = re.compile(r"[\\$]\S+")
_NAMED = re.compile(r"\\(?!\$)\S+")
_UNNAMED = re.compile(r"\\?\$\S+")
_NAMELESS = ("$", "\\$")
_OUTPUTS = ("Y", "Q")
_WORD = "|".join(sorted(KEYWORDS))
# Names that may have to change, also in strings: the name of a memory is a parameter of its ports.
_OTHER = re.compile(rf'(?:\\(?=[^\s"\\]*[$.\[]|(?:{_WORD})[\s"])|\\?\$)[^\s"]+')


def with_names(rtlil: str) -> str:
    """Return RTLIL in which all nets, memories and instances have plain names.

    ``a.b`` becomes ``a__b``, ``a[0]`` becomes ``a_0``, and further signals of one name are numbered
    from 2. A net or an instance named like a keyword gets the suffix ``_net``.

    A net without a name is called after what it goes into, a signal or a pin of an instance, and
    numbered in the order of creation: reports of timing, and readers, find the place in our sources
    by it. Operators are called after their results, by which Yosys sorts them.

    Raises
    ------
    ValueError
        A port is named like a keyword, which some tools do not read even where it is escaped.
    """
    return _MODULE.sub(lambda found: _module(found[0]), rtlil)


def _module(text: str) -> str:
    """Return a module in which all names are plain."""
    defined = [net or instance for net, instance in _DEFINED.findall(text)]
    if bad := sorted(KEYWORDS & set(_PORT.findall(text))):
        raise ValueError(f"ports must not be keywords of Verilog, as are {bad} in {text[:60]!r}")
    plain = {one for one in defined if _PLAIN.fullmatch(one) and one[1:] not in KEYWORDS}
    nameless = [name for name in defined if name.startswith(_NAMELESS)]
    taken, names = set(plain), dict[str, str]()
    for name in sorted(set(defined) - plain - set(nameless), key=_in_order):
        base = re.sub(r"\[(\w+)\]", r"_\1", name.split("$")[0]).replace(".", "__")
        base += "_net" if base[1:] in KEYWORDS else ""
        names[name] = _free(base, taken, Counter({base: 1}), numbered="$" in name)
    goes_into, results = _destinations(text, names)
    count: Counter[str] = Counter()
    for net in sorted(nameless, key=_in_order):
        base, seen = net, {net}
        while base.startswith(_NAMELESS):
            base = goes_into.get(base, "\\net")
            if base in seen:
                base = "\\net"
            seen.add(base)
        names[net] = _free(names.get(base, base), taken, count, numbered=True)
    names |= {cell: _sortable(names.get(net, net), cell) for cell, net in results.items()}
    return _OTHER.sub(lambda found: names.get(found[0], found[0]), text)


def _free(base: str, taken: set[str], count: Counter[str], *, numbered: bool) -> str:
    """Return a name that is not taken, the base or the base with the next number; take it."""
    name = base
    while name in taken or (numbered and name == base):
        count[base] += 1
        name = f"{base}_{count[base]}"
    taken.add(name)
    return name


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by value."""
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", name)]


def _sortable(net: str, cell: str) -> str:
    """Return a name of an operator that sorts it by the net that it drives."""
    return "$" + re.sub(r"\d+", lambda number: number[0].zfill(6), net[1:]) + cell


def _first(target: str) -> str:
    """Return the first net that has a name, or else the first one."""
    return [*_NAMED.findall(target), *_NAME.findall(target)][0]


def _destinations(text: str, names: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what each unnamed net goes into, and the net that each operator drives.

    ``names`` are the new ones of instances and memories.
    """
    goes_into: dict[str, str] = {}
    results: dict[str, str] = {}
    for kind, cell, body in _CELL.findall(text):
        pins = dict(_PIN.findall(body))
        memory = _MEMORY.search(body)
        part = memory[1] if memory else cell
        result = next((pins[pin] for pin in _OUTPUTS if pin in pins and kind[0] == "$"), "")
        if result:
            results[cell] = _first(result)
        for pin, value in pins.items():
            of_pin = f"{names.get(part, part)}_{pin.lower() if memory else pin}"
            into = results.get(cell, of_pin)
            for net in _UNNAMED.findall(value):
                if net != into:
                    goes_into.setdefault(net, into)
    for target, value in _JOIN.findall(text):
        into = _first(target)
        for net in _UNNAMED.findall(f"{target} {value}"):
            if net != into:
                goes_into.setdefault(net, into)
    return goes_into, results
