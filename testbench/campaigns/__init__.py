"""Random campaigns on whole fabrics: legal work derived from a seed, with expected results."""
