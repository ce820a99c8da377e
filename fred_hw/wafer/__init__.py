"""A wafer plane: endpoints and switches in a tree, and compiled programs."""
