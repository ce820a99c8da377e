"""What hardware is compared with."""
