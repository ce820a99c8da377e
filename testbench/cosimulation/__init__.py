"""Generate a unit and run its benches."""
