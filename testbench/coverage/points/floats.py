"""Pairs of operands of each floating-point format: zero, subnormal, normal, max, inf, NaN."""

from itertools import product

from fred_hw.arith.float_add import FloatAdd
from fred_hw.formats.number_format import FloatFormat
from testbench.coverage.point import Points, watches

__all__: list[str] = []


@watches(FloatAdd)
def _sums(unit: FloatAdd) -> Points:
    form = unit.number_format
    assert isinstance(form, FloatFormat)
    classes = _classes(form)
    body = [f"logic [{len(classes) - 1}:0] {name}_is;" for name in ("first", "second")]
    body += [f"logic {name}_negative;" for name in ("first", "second")]
    top = form.place.stop - 1
    for name, port in (("first", "i0"), ("second", "i1")):
        magnitude = f"{port}[{top - 1}:{form.place.start}]"
        tests = ", ".join(test.format(magnitude) for test in reversed(classes.values()))
        body += [f"assign {name}_is = {{{tests}}};", f"assign {name}_negative = {port}[{top}];"]
    operands = list(product(enumerate(classes), ("plus", "minus")))
    points: dict[str, str] = {}
    for ((a, first), sign0), ((b, second), sign1) in product(operands, repeat=2):
        signs = [
            f"{'' if sign == 'minus' else '!'}{name}_negative"
            for name, sign in (("first", sign0), ("second", sign1))
        ]
        condition = " && ".join(["together == 3", f"first_is[{a}]", f"second_is[{b}]", *signs])
        points[f"{form.name}_{sign0}_{first}_and_{sign1}_{second}"] = condition
    return Points(points, tuple(body))


def _classes(form: FloatFormat) -> dict[str, str]:
    """Return a test of the magnitude for each class of numbers that a format has."""
    bits, smallest = form.bits - 1, 1 << form.fraction_bits
    found = {
        "zero": "{} == 0",
        "subnormal": f"({{0}} > 0 && {{0}} < {bits}'d{smallest})",
        "normal": f"({{0}} >= {bits}'d{smallest} && {{0}} < {bits}'d{form.largest})",
        "max": f"{{}} == {bits}'d{form.largest}",
    }
    if form.infinity is not None:
        found["inf"] = f"{{}} == {bits}'d{form.infinity}"
    if form.has_nan:
        found["nan"] = f"{{}} >= {bits}'d{form.first_nan}"
    return found
