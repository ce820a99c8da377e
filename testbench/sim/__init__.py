"""Where simulators are, how they are built and run."""
