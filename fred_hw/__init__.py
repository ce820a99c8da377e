"""The FRED switch: specification, hardware in Amaranth, and compiler."""
