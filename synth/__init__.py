"""From Verilog to area and clock: mapping to a cell library, areas by unit and class, timing."""
