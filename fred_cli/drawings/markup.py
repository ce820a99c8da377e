"""Text and data in HTML and SVG; the only module that escapes them."""

import html
import json
from typing import Any

from fred_hw.visible import visible

__all__ = ["escape", "script_json"]

_IN_SCRIPTS = {ord(one): f"\\u{ord(one):04x}" for one in "<>&"}
"""Characters that may start or end a script or a comment; in JSON they occur only in strings."""


def escape(text: str) -> str:
    """Return text escaped for elements and attributes of HTML and SVG."""
    return html.escape(visible(text))


def script_json(value: Any) -> str:
    """Return a value as JSON for a ``<script>`` of a page: ASCII that cannot end the script."""
    return json.dumps(value, separators=(",", ":")).translate(_IN_SCRIPTS)
