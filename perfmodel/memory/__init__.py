"""Memory beyond the NPUs: files, and the time to move bytes."""
