"""What a micro-switch does with the two operands that it reduces; a new one is a new file here."""
