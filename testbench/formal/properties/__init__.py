"""Properties of units, one file per part of the hardware."""
