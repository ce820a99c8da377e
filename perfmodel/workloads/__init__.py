"""Workloads, one YAML file each: those of the FRED paper, and others that people run."""
