"""The link endpoint: connects an NPU, or another neighbour, to a link."""
