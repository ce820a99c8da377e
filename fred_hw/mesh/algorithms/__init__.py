"""How rings of a collective go on a mesh, one algorithm each; a new one is a new file here."""
