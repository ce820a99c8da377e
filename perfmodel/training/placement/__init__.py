"""Placement of workers on NPUs: policies, and the search for the best."""
