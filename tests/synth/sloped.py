"""A cell library with sizes, whose delays grow with load and slew, for sums by hand."""

from collections.abc import Callable
from pathlib import Path

from synth.liberty import Libraries, read_libraries
from tests.synth.tiny import HEAD

__all__ = ["SLOPED", "sloped_liberty", "sloped_libraries"]

SLOPED = {
    "INV": ("(!A)", ("A",), 1.0, 4.0, 4.0),
    "INVX4": ("!A", ("A",), 1.5, 4.0, 1.0),
    "BUF": ("A", ("A",), 1.0, 8.0, 4.0),
    "BUFX4": ("A", ("A",), 1.5, 9.0, 1.0),
    "NAND2": ("!(A * B)", ("A", "B"), 1.0, 6.0, 5.0),
    "NAND2X4": ("(!A + !B)", ("A", "B"), 1.5, 6.0, 1.25),
    "NOR2": ("!(A + B)", ("A", "B"), 1.0, 6.0, 6.0),
}
"""Function, inputs, load of each of them [fF], delay [ps] and what a load adds [ps/fF]."""

_FLIP_FLOP = """\
  cell ({name}) {{
    area : {area};
    ff (IQ, IQN) {{ clocked_on : "CK"; next_state : "{next}"; }}
    pin (CK) {{ direction : input; clock : true; capacitance : 1.0; }}
    pin (D) {{
      direction : input; capacitance : 1.0;
      timing () {{ related_pin : "CK"; timing_type : setup_rising; {setup} }}
    }}
    pin (Q) {{
      direction : output; function : "IQ"; max_capacitance : 1000;
      timing () {{ related_pin : "CK"; timing_type : rising_edge; {delay} }}
    }}
  }}
"""


def sloped_liberty() -> str:
    """Return the library as text; an inverted flip-flop has the pins of the others."""
    cells = []
    for name, (function, inputs, load, delay, slope) in SLOPED.items():
        pins = "".join(
            f"    pin ({pin}) {{ direction : input; capacitance : {load}; }}\n" for pin in inputs
        )
        sense = "positive_unate" if name.startswith("BUF") else "negative_unate"
        arcs = "".join(
            f'      timing () {{ related_pin : "{pin}"; timing_sense : {sense}; '
            f"{_delays(delay, slope)} }}\n"
            for pin in inputs
        )
        cells.append(
            f"  cell ({name}) {{\n    area : {load * len(inputs)};\n{pins}    pin (Y) {{\n"
            f'      direction : output; function : "{function}"; max_capacitance : 1000;\n'
            f"{arcs}    }}\n  }}\n"
        )
    setup = "".join(
        f"{edge}_constraint (edge) {{ values ({_rows(lambda clock, data: 5 + data / 10)}); }} "
        for edge in ("rise", "fall")
    )
    for name, area, function, slope in (
        ("DFF", 6.0, "D", 4.0),
        ("DFFX4", 9.0, " D ", 1.0),
        ("DFFN", 6.0, "!D", 0.5),
    ):
        delay = _delays(20.0, slope)
        cells.append(
            _FLIP_FLOP.format(name=name, area=area, next=function, setup=setup, delay=delay)
        )
    return HEAD + "".join(cells) + "}\n"


def sloped_libraries(folder: Path) -> Libraries:
    """Write the library to a folder, also under the name that timing looks for, and read it."""
    path = folder / "sloped.lib"
    path.write_text(sloped_liberty())
    (folder / "cells-0.lib").write_text(sloped_liberty())
    return read_libraries([path])


def _delays(delay: float, slope: float) -> str:
    def later(slew: float, load: float) -> float:
        return delay + slew / 4 + slope * load

    def slower(slew: float, load: float) -> float:
        return 2 + slew / 10 + slope * load

    return "".join(
        f"cell_{edge} (load) {{ values ({_rows(later)}); }} "
        f"{edge}_transition (load) {{ values ({_rows(slower)}); }} "
        for edge in ("rise", "fall")
    )


def _rows(of: Callable[[float, float], float]) -> str:
    points = (1, 10, 100)
    return ", ".join('"' + ", ".join(f"{of(a, b):.6g}" for b in points) + '"' for a in points)
