"""Number formats of a lane; a new format is a new module here."""
