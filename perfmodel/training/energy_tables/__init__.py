"""Shipped tables of the energy of each unit of work, a YAML file each."""
