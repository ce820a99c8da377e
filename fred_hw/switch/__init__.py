"""The switch around the interconnect: buffers, virtual channels, phases."""
