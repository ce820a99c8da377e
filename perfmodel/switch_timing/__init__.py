"""What co-simulation measured of switches, and where a number comes from."""
