"""A neighbour's end of a link, to stand beside an NPU."""
