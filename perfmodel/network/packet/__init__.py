"""Network model ``packet``: packets of endpoints over routers and switches, as in RTL."""
