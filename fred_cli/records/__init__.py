"""Built-in records: what each measures, and whether it is current."""
