"""How long a schedule takes on a topology: network models by name."""
