"""What can be generated, one level each; a new one is a new file here."""
