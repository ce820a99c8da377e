"""ASTRA-sim's analytical network models: messages over links, with and without congestion."""
