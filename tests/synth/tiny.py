"""A cell library of a few cells whose delays are the same under every load, for sums by hand."""

from pathlib import Path

from synth.liberty import Libraries, read_libraries

__all__ = ["CELLS", "CLK_TO_Q_PS", "HEAD", "SETUP_PS", "tiny_liberty", "tiny_libraries"]

CLK_TO_Q_PS, SETUP_PS = 20, 7

CELLS = {
    "INV": (1.0, "(!A)", ("A",), 5),
    "BUF": (1.5, "A", ("A",), 6),
    "BUFX2": (2.0, "A", ("A",), 5),
    "NAND2": (2.0, "!(A * B)", ("A", "B"), 8),
    "NOR2": (2.0, "(A + B)'", ("A", "B"), 9),
}
"""Area, function, inputs and delay [ps] of each gate; inputs load 2 fF."""

HEAD = """\
library (tiny) {
  delay_model : table_lookup;
  time_unit : "1ps";
  capacitive_load_unit (1, ff);
  voltage_unit : "1V"; current_unit : "1mA"; leakage_power_unit : "1nW";
  pulling_resistance_unit : "1kohm";
  nom_process : 1; nom_temperature : 25; nom_voltage : 1;
  input_threshold_pct_rise : 50; input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;
  default_max_transition : 1000;
  lu_table_template (load) {
    variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;
    index_1 ("1, 10, 100"); index_2 ("1, 10, 100");
  }
  lu_table_template (edge) {
    variable_1 : related_pin_transition; variable_2 : constrained_pin_transition;
    index_1 ("1, 10, 100"); index_2 ("1, 10, 100");
  }
"""

_FLIP_FLOP = """\
  cell (DFF) {{
    area : 6.0;
    ff (IQ, IQN) {{ clocked_on : "CK"; next_state : "D"; }}
    pin (CK) {{ direction : input; clock : true; capacitance : 1.0; }}
    pin (D) {{
      direction : input; capacitance : 2.0;
      timing () {{ related_pin : "CK"; timing_type : setup_rising; {setup} }}
    }}
    pin (Q) {{
      direction : output; function : "IQ"; max_capacitance : 1000;
      timing () {{ related_pin : "CK"; timing_type : rising_edge; {delay} }}
    }}
  }}
"""


def tiny_liberty(*, without: tuple[str, ...] = (), head: str = HEAD) -> str:
    """Return the library as text, without some of its cells."""
    cells = [_gate(name, *values) for name, values in CELLS.items() if name not in without]
    if "DFF" not in without:
        setup = _tables("edge", SETUP_PS, "rise_constraint", "fall_constraint")
        cells.append(_FLIP_FLOP.format(setup=setup, delay=_delays(CLK_TO_Q_PS)))
    return head + "".join(cells) + "}\n"


def tiny_libraries(folder: Path) -> Libraries:
    """Write the library to a folder and read it."""
    path = folder / "tiny.lib"
    path.write_text(tiny_liberty())
    return read_libraries([path])


def _gate(name: str, area: float, function: str, inputs: tuple[str, ...], delay_ps: int) -> str:
    sense = "positive_unate" if name.startswith("BUF") else "negative_unate"
    delays = f"timing_sense : {sense}; {_delays(delay_ps)}"
    arcs = "".join(f'      timing () {{ related_pin : "{pin}"; {delays} }}\n' for pin in inputs)
    pins = "".join(
        f"    pin ({pin}) {{ direction : input; capacitance : 2.0; }}\n" for pin in inputs
    )
    return (
        f"  cell ({name}) {{\n    area : {area};\n{pins}    pin (Y) {{\n      direction : output; "
        f'function : "{function}"; max_capacitance : 1000;\n{arcs}    }}\n  }}\n'
    )


def _delays(delay_ps: int) -> str:
    slopes = _tables("load", 1, "rise_transition", "fall_transition")
    return _tables("load", delay_ps, "cell_rise", "cell_fall") + slopes


def _tables(template: str, value: int, *names: str) -> str:
    row = f'"{value}, {value}, {value}"'
    return "".join(f"{name} ({template}) {{ values ({row}, {row}, {row}); }} " for name in names)
