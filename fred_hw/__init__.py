"""The FRED switch: its specification, its hardware in Amaranth and its compiler."""
