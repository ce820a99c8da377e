"""The collective endpoint, as in ACE (arXiv 2007.00156): slots, state machines, reduce lanes."""
