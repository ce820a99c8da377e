"""Packets of endpoints over routers and switches, as in RTL."""
