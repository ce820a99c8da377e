"""Parts that hardware units are made of."""
