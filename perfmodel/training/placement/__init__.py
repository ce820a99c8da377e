"""Where the workers of a strategy go: policies, and the search among placements."""
