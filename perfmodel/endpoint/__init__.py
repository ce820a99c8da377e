"""Endpoints of NPUs: the resources they take from compute, and the network rate they reach."""
