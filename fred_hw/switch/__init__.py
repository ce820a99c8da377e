"""The switch around the interconnect: buffers, virtual circuits, phases."""
