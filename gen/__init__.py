"""Generator: from a specification to Verilog and its companion files."""
