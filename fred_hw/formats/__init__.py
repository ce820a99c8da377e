"""Number formats of a lane; a new one is a new file here."""
