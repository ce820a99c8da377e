"""Operations of a micro-switch on two operands; a new one is a new file here."""
