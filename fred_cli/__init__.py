"""The command line `fred`; the one place that may import every room, lazily."""
