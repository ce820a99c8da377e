"""A training iteration: parallelization, schedules of compute and communication, memory."""
