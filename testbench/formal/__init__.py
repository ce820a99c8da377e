"""Models of the protocol that are searched state by state."""
