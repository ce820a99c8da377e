"""Random campaigns against whole fabrics: legal work from a seed, and what must come of it."""
