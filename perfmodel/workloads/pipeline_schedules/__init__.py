"""Pipeline schedules; each module registers its own."""
