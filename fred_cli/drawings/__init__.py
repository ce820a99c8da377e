"""Drawings as SVG, and charts."""
