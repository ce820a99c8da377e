"""A plane of a wafer: endpoints and switches in a tree, and what a strategy is to them."""
