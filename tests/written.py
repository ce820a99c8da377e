"""Files that tests write."""

import json
from pathlib import Path

__all__ = ["written"]


def written(path: Path, content: object) -> Path:
    """Return a path with text, bytes, or else anything as JSON written to it."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return path
