"""Network models; each module registers its own."""
