"""Workloads: models of the FRED paper and others, one YAML file each."""
