"""Check that a netlist belongs to a design."""

import re
from pathlib import Path

from fred_hw.errors import InputError
from gen.verilog_parser import Module, VerilogError, parse_module, read_modules

__all__ = ["netlist_of"]

Ports = dict[str, tuple[str, int]]
"""Direction and width of ports [bits]."""


def netlist_of(netlist: str, path: Path, name: str, verilog: str) -> str:
    """Return a netlist that has the top module of a design; refuse that of another design.

    If the top module only connects instances of one module, the netlist may be that of this module.
    The design's top module is then added to the netlist.

    Parameters
    ----------
    netlist, path : str, Path
        The netlist, and its file.
    name, verilog : str
        Top module of the design, and the text of all modules.

    Raises
    ------
    InputError
        A module or port is missing, or a port differs; names ``path`` and the port.
    """
    label = str(path)
    top = _module(verilog, name)
    assert top is not None, f"a design without {name}"
    found, rest = _parsed(netlist, name, label), ""
    if found is None:
        inside = {one.module for one in parse_module(name, _tokens(top)).instances}
        own = next(iter(inside)) if len(inside) == 1 else name
        found, rest = _parsed(netlist, own, label), top
        if found is None:
            names = " or ".join(dict.fromkeys((name, own)))
            message = f"must have module {names}, not be the netlist of another design"
            raise InputError(label, "", message)
        name = own
    want = _parsed(verilog, name, label)
    assert want is not None, f"a design without {name}"
    _check(_ports(found), _ports(want), label)
    return f"{netlist}\n{rest}"


def _check(found: Ports, want: Ports, label: str) -> None:
    for port in sorted(found.keys() | want.keys()):
        one, other = (_said(ports.get(port)) for ports in (want, found))
        if one != other:
            raise InputError(label, f"port {port}", f"must be {one}, not {other}")


def _said(port: tuple[str, int] | None) -> str:
    return "missing" if port is None else f"an {port[0]} of width {port[1]}"


def _module(verilog: str, name: str) -> str | None:
    """Return the text of a module; None if there is none."""
    found = re.search(
        rf"^\s*module\s+\\?{re.escape(name)}(?![\w$]).*?\bendmodule\b",
        verilog,
        re.DOTALL | re.MULTILINE,
    )
    return found[0] if found else None


def _parsed(verilog: str, name: str, label: str) -> Module | None:
    text = _module(verilog, name)
    try:
        return None if text is None else parse_module(name, _tokens(text))
    except VerilogError as error:
        raise InputError(label, "", str(error)) from None


def _tokens(text: str) -> list[str]:
    return next(tokens for _, tokens in read_modules(text))


def _ports(module: Module) -> Ports:
    return {port: ("".join(module.directions(port)), _bits(module, port)) for port in module.ports}


def _bits(module: Module, port: str) -> int:
    """Return the width of a port, of whose declarations only one may have a range."""
    for tokens in module.declared.get(port, []):
        if "[" in tokens:
            at = tokens.index("[")
            high, low = (int(one) for one in "".join(tokens[at + 1 : tokens.index("]")]).split(":"))
            return abs(high - low) + 1
    return 1
