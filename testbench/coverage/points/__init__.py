"""Cover points, a module for each part of the hardware."""
