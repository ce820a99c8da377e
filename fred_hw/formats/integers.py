"""Two's complement integer formats."""

from .number_format import FORMATS, IntFormat

__all__ = ["INT8", "INT16", "INT32"]

INT8, INT16, INT32 = (IntFormat(f"int{width}", width) for width in (8, 16, 32))
for _rank, _form in enumerate((INT8, INT16, INT32), start=4):
    FORMATS.add(_form.name, _form, rank=_rank)
