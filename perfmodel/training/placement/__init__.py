"""Placement of workers on NPUs: policies, and the search among them."""
