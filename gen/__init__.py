"""From a specification to Verilog and the files a user puts beside it."""
