"""Pipeline schedules: each module adds its own to the registry."""
