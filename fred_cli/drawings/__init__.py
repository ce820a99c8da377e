"""Pictures as SVG and charts."""
