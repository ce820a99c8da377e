"""Endpoints of NPUs: what they take from compute, and how fast they drive the network."""
