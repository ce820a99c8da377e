"""Input files of ASTRA-sim 2.0, as its own parsers take them."""
