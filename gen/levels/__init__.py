"""Generator levels, one module each; a new level is a new module here."""
