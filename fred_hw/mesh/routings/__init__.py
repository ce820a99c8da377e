"""Ways through a mesh: each module adds its own to the registry."""
