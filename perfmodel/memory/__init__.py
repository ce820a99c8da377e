"""Memory outside the NPUs: files, and the time of transfers."""
