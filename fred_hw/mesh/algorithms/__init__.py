"""Ring algorithms of collectives on a mesh; a new one is a new file here."""
