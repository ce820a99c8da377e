"""Settings of micro-switches, each with all inputs that it needs.

The kind of a micro-switch is its stage: R in input stages, RD in the middle, D in output stages.
"""

from itertools import product

from fred_hw.compiler.shape import code_width
from fred_hw.datapath.microswitch import DMicroswitch, RDMicroswitch, RMicroswitch
from fred_hw.datapath.steering import Demultiplexer, Multiplexer
from testbench.coverage.point import Points, watches

__all__: list[str] = []

_FIRST, _SECOND = "i__0__valid", "i__1__valid"


def _halves(width: int) -> tuple[str, str]:
    return f"configuration[{width - 1}:0]", f"configuration[{2 * width - 1}:{width}]"


@watches(RMicroswitch)
def _r(unit: RMicroswitch) -> Points:
    outputs = range(1, unit.spec.middle_switches + 1)
    low, high = _halves(code_width(unit.spec.middle_switches))
    points = {"idle": f"{low} == 0 && {high} == 0"}
    for a in outputs:
        points[f"first_to_{a - 1}"] = f"{low} == {a} && {high} == 0 && {_FIRST}"
        points[f"second_to_{a - 1}"] = f"{low} == 0 && {high} == {a} && {_SECOND}"
        for b in outputs:
            what = f"reduce_to_{a - 1}" if a == b else f"first_to_{a - 1}_second_to_{b - 1}"
            points[what] = f"{low} == {a} && {high} == {b} && {_FIRST} && {_SECOND}"
    return Points(points)


@watches(RDMicroswitch)
def _rd(unit: RDMicroswitch) -> Points:
    points: dict[str, str] = {}
    low, high = _halves(2)
    names = ("nothing", "first", "second", "sum")
    for a, b in product(range(4), repeat=2):
        if 3 in (a, b) and {a, b} & {1, 2}:
            continue  # not a setting: an output next to a sum has the sum or nothing
        inputs = [valid for bit, valid in ((1, _FIRST), (2, _SECOND)) if (a | b) & bit]
        setting = " && ".join([f"{low} == {a}", f"{high} == {b}", *inputs])
        points[f"{names[a]}_and_{names[b]}"] = setting
    return Points(points)


@watches(DMicroswitch)
def _d(unit: DMicroswitch) -> Points:
    middle = unit.spec.middle_switches
    low, high = _halves(code_width(middle))
    points: dict[str, str] = {}
    for a, b in product(range(middle + 1), repeat=2):
        inputs = [f"i__{k - 1}__valid" for k in sorted({a, b} - {0})]
        setting = " && ".join([f"{low} == {a}", f"{high} == {b}", *inputs])
        points[f"from_{_source(a)}_and_{_source(b)}"] = setting
    return Points(points)


def _source(code: int) -> str:
    return str(code - 1) if code else "nowhere"


@watches(Demultiplexer)
def _demultiplexer(unit: Demultiplexer) -> Points:
    codes = range(unit.spec.middle_switches)
    routed = {f"to_{k}": f"configuration == {k + 1} && i__valid" for k in codes}
    return Points({"idle": "configuration == 0", **routed})


@watches(Multiplexer)
def _multiplexer(unit: Multiplexer) -> Points:
    codes = range(unit.spec.middle_switches)
    routed = {f"from_{k}": f"configuration == {k + 1} && i__{k}__valid" for k in codes}
    return Points({"idle": "configuration == 0", **routed})
