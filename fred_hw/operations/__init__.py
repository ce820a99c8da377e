"""Operations of a micro-switch on two operands; a new operation is a new module here."""
