"""The command line `fred`: the only package that may import all others, lazily."""
