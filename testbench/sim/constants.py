"""Inputs of a design that never change, as constants: nothing is simulated for their sake."""

import re
from collections.abc import Mapping

__all__ = ["with_constants"]


def with_constants(verilog: str, top: str, constants: Mapping[str, int]) -> str:
    """Return a design in which some inputs of the top module are constants, and no ports any more.

    Parameters
    ----------
    verilog : str
        As ``gen.emitter`` writes it.
    top : str
        Name of the top module.
    constants : mapping of str to int
        Values of inputs, by name.

    Raises
    ------
    ValueError
        The top module has no such input.
    """
    found = re.search(rf"^module {re.escape(top)}\((.*?)\);.*?^endmodule", verilog, re.M | re.S)
    ports = [] if found is None else [name.strip() for name in found[1].split(",")]
    lacks = [name for name in constants if name not in ports]
    if found is None or lacks:
        raise ValueError(f"constants must be inputs of {top}, not {', '.join(lacks)}")
    text = found[0].replace(found[1], ", ".join(n for n in ports if n not in constants), 1)
    for name, value in constants.items():
        text = re.sub(rf"^  input (\[\d+:0\] )?{re.escape(name)};\n", "", text, flags=re.M)
        declared = re.compile(rf"^  wire (\[\d+:0\] )?{re.escape(name)};", re.M)
        text = declared.sub(rf"  wire \g<1>{name} = {value};", text)
    return verilog[: found.start()] + text + verilog[found.end() :]
