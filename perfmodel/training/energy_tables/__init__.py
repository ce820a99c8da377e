"""Built-in energy tables: the energy of each unit of work, one YAML file per table."""
