"""What was run to verify the hardware: records, and their summary for documentation and report."""
