"""From flows and collectives to micro-switch configurations; pure Python."""
