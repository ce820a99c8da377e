"""Input files of ASTRA-sim 2.0, as its parsers read them."""
