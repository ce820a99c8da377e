"""Flows that share links by max-min fairness: the network model of every estimate."""
