"""Workloads of the FRED paper, one YAML file each."""
