"""Area, wiring, yield and price of the switch chiplets of a wafer."""
