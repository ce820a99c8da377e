"""Many estimates side by side."""
