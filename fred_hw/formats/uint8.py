"""Bytes without a sign."""

from .number_format import FORMATS, IntFormat

__all__ = ["UINT8"]

UINT8 = IntFormat("uint8", 8, signed=False)
FORMATS.add(UINT8.name, UINT8)
