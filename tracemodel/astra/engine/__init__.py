"""The execution loop of ASTRA-sim 2.0: traces of all NPUs on a network."""
