"""Records that come with the package: what each measures, and whether it is current."""
