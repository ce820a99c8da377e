"""Random campaigns on whole fabrics: legal work from a seed, and its expected results."""
