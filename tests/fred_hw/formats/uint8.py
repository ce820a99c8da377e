"""Bytes without a sign: all that it takes to define a format of such integers."""

from fred_hw.formats.number_format import IntFormat

__all__ = ["UINT8"]

UINT8 = IntFormat("uint8", 8, signed=False)
