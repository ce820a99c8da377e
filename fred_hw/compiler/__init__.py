"""Compiler: from flows and collectives to micro-switch configurations, in pure Python."""
