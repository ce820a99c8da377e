"""Networks between the ports of a switch; a new network is a new module here."""
