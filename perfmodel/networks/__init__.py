"""Neural networks: parameters and operations from their structure."""
