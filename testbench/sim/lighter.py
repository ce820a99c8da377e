"""Verilog that does the same as what was generated, and costs Icarus Verilog less."""

import re
from collections import Counter

__all__ = ["lighter"]

_MODULE = re.compile(r"^module .*?^endmodule$", re.MULTILINE | re.DOTALL)
_RANGE = r"(?:\[(\d+):0\] )?"
_NET = re.compile(rf"^  (?:wire|reg) {_RANGE}(\w+);$", re.MULTILINE)
_SELECT = r"(?:\[(\d+)(?::(\d+))?\])?"
_REGISTER = re.compile(
    rf"^  always @\(posedge clk\)\n    ((\w+){_SELECT}) <= ((\w+){_SELECT});\n", re.MULTILINE
)
_ASSIGNED = re.compile(r"(\w+)(?:\[[^]]*\])? <= ")
_PARITY = re.compile(r"\^ \{ ([^{}]*) \}")
_PART = re.compile(rf"(?:(\d+)'h0+|(\w+){_SELECT})$")


def lighter(verilog: str) -> str:
    """Return modules whose names, widths, cycles and unknown values are those of others.

    - Registers ``q <= d`` of a module are slices of one. Icarus runs each such statement in each
      cycle, whether anything changes or not; what leads to one register and from it costs only
      when it changes.
    - Parities of some bits of a word, as in a CRC, are those of the word with a mask rather than of
      as many slices, which Icarus joins bit by bit.

    Parameters
    ----------
    verilog : str
        Modules as ``gen.emitter`` writes them.
    """
    return _MODULE.sub(lambda found: _masked(_joined(found[0])), verilog)


def _joined(module: str) -> str:
    """Return a module with its plain registers joined."""
    widths = _widths(module)
    times = Counter(_ASSIGNED.findall(module))
    bits: Counter[str] = Counter()
    pairs: list[tuple[str, str, str]] = []
    for state, name, *select, value, of, high, low in _REGISTER.findall(module):
        own = _bits(widths, name, *select)
        # Of another width a value would be cut or filled.
        if own and own == _bits(widths, of, high, low):
            pairs.append((name, state, value))
            bits[name] += own
            times[name] -= 1
    # Nothing else may write a register, and all of its bits must be written.
    states = {name for name, own in bits.items() if times[name] == 0 and own == widths[name]}
    pairs = [pair for pair in pairs if pair[0] in states]
    if len(pairs) < 2 or "joined_d" in widths or "joined_q" in widths:
        return module
    module = _REGISTER.sub(lambda found: "" if found[2] in states else found[0], module)
    module = re.sub(
        rf"^  reg ({_RANGE}(\w+);)$",
        lambda found: f"  wire {found[1]}" if found[3] in states else found[0],
        module,
        flags=re.MULTILINE,
    )
    high = sum(widths[state] for state in states) - 1
    return module.removesuffix("endmodule") + "\n".join(
        [
            f"  wire [{high}:0] joined_d;",
            f"  reg [{high}:0] joined_q;",
            f"  assign joined_d = {{ {', '.join(value for _, _, value in pairs)} }};",
            f"  assign {{ {', '.join(state for _, state, _ in pairs)} }} = joined_q;",
            "  always @(posedge clk)",
            "    joined_q <= joined_d;",
            "endmodule",
        ]
    )


def _masked(module: str) -> str:
    """Return a module with masks for the slices of a word that stand in their own places."""
    widths = _widths(module)

    def masked(found: re.Match[str]) -> str:
        mask = place = 0
        names: set[str] = set()
        for text in reversed(found[1].split(", ")):
            part = _PART.match(text)
            if part is None:
                return found[0]
            zeros, name, high, low = part.groups()
            if name is None:
                place += int(zeros)
                continue
            names.add(name)
            whole = widths.get(name, 0) - 1
            first, last = int(low or high or 0), int(high or whole)
            if first != place:
                return found[0]
            mask |= (1 << last + 1) - (1 << first)
            place = last + 1
        if len(names) != 1 or place != widths.get(name := names.pop()):
            return found[0]
        return f"^ ( {name} & {place}'h{mask:x} )"

    return _PARITY.sub(masked, module)


def _bits(widths: dict[str, int], name: str, high: str, low: str) -> int:
    """Return how many bits a name or a part of it has, 0 of what was not declared."""
    if name not in widths:
        return 0
    return int(high) - int(low or high) + 1 if high else widths[name]


def _widths(module: str) -> dict[str, int]:
    """Return the widths of what a module declares, but for names that are escaped."""
    return {name: int(high or 0) + 1 for high, name in _NET.findall(module)}
