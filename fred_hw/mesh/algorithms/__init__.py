"""Ring algorithms of collectives on a mesh; a new algorithm is a new module here."""
