"""A library of a few cells with round energies, and a design of them, for sums by hand."""

from pathlib import Path

from synth.liberty import Libraries, read_libraries
from synth.mapping import Mapped

__all__ = ["POWERED", "chain", "powered_libraries"]

_DELAYS = " ".join(
    f'{name} (scalar) {{ values ("0.1"); }}'
    for name in ("cell_rise", "cell_fall", "rise_transition", "fall_transition")
)


def _energy(related: str, rise: float, fall: float) -> str:
    pin = f'related_pin : "{related}"; ' if related else ""
    return (
        f'internal_power () {{ {pin}rise_power (scalar) {{ values ("{rise}"); }} '
        f'fall_power (scalar) {{ values ("{fall}"); }} }}'
    )


def _arc(pin: str, kind: str) -> str:
    return f'timing () {{ related_pin : "{pin}"; {kind}; {_DELAYS} }}'


_NEGATIVE = "timing_sense : negative_unate"

POWERED = f"""\
library (powered) {{
  delay_model : table_lookup;
  time_unit : "1ns"; capacitive_load_unit (1, ff); voltage_unit : "1V"; current_unit : "1mA";
  leakage_power_unit : "1nW"; pulling_resistance_unit : "1kohm";
  nom_process : 1; nom_temperature : 25; nom_voltage : 2;
  operating_conditions (typical) {{ process : 1; voltage : 2; temperature : 25; }}
  default_operating_conditions : typical;
  input_threshold_pct_rise : 50; input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;
  wire_load ("SMALL") {{
    resistance : 0; capacitance : 0.5; area : 0; slope : 1; fanout_length (1, 10);
  }}
  default_wire_load : "SMALL";
  cell (INV) {{
    area : 1; cell_leakage_power : 3;
    pin (A) {{ direction : input; capacitance : 2; }}
    pin (Y) {{ direction : output; function : "!A"; max_capacitance : 100;
      {_arc("A", _NEGATIVE)} {_energy("A", 10, 4)} }}
  }}
  cell (NAND2) {{
    area : 2; cell_leakage_power : 4;
    pin (A) {{ direction : input; capacitance : 2; }}
    pin (B) {{ direction : input; capacitance : 2; }}
    pin (Y) {{ direction : output; function : "!(A * B)"; max_capacitance : 100;
      {_arc("A", _NEGATIVE)} {_arc("B", _NEGATIVE)} {_energy("A", 6, 6)} {_energy("B", 2, 2)} }}
  }}
  cell (DFF) {{
    area : 6; cell_leakage_power : 5;
    ff (IQ, IQN) {{ clocked_on : "CK"; next_state : "D"; }}
    pin (CK) {{ direction : input; clock : true; capacitance : 1; {_energy("", 3, 2)} }}
    pin (D) {{ direction : input; capacitance : 2; {_energy("", 1, 0.5)}
      timing () {{ related_pin : "CK"; timing_type : setup_rising;
        rise_constraint (scalar) {{ values ("0.1"); }}
        fall_constraint (scalar) {{ values ("0.1"); }} }} }}
    pin (Q) {{ direction : output; function : "IQ"; max_capacitance : 100;
      {_arc("CK", "timing_type : rising_edge")} {_energy("CK", 20, 8)} }}
  }}
}}
"""
"""A library whose inputs load 2 fF, and clock pins 1 fF, at 2 V."""

_CHAIN = """\
module chain(clk, a, o);
  input clk;
  wire clk;
  input a;
  wire a;
  output o;
  wire o;
  wire b;
  wire c;
  INV first (
    .A(a),
    .Y(b)
  );
  DFF c_reg (
    .CK(clk),
    .D(b),
    .Q(c)
  );
  last inside (
    .i(c),
    .o(o)
  );
endmodule

module last(i, o);
  input i;
  wire i;
  output o;
  wire o;
  INV second (
    .A(i),
    .Y(o)
  );
endmodule
"""


def powered_libraries(folder: Path, text: str = POWERED) -> Libraries:
    """Write the library, or another one, to a folder and read it."""
    path = folder / "powered.lib"
    path.write_text(text)
    return read_libraries([path])


def chain() -> Mapped:
    """Return an inverter, a flip-flop behind it, and a second inverter in a module."""
    return Mapped("chain", _CHAIN, {}, {})
