"""What the hardware is fed with."""
