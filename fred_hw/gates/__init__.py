"""Building blocks of hardware units."""
