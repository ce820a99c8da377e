"""Tests of fred_hw.adder_delays: the depth of adders that `clock_ns` takes from the record."""

import re
from itertools import pairwise

import pytest

from fred_cli.records.adders import AddersMeasurement
from fred_hw.adder_delays import REFERENCE_NS, adder_delays
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.formats.number_format import FORMATS, FloatFormat
from fred_hw.operations.operation import OPERATIONS, fitting
from fred_hw.spec import SwitchSpec
from gen.clock import CLOCK_NS

PAIRS = [
    (operation, form)
    for form in FORMATS
    for operation in fitting(FORMATS[form])
    if adder_delays().clocks_ns(operation, form)
]
"""What was measured; a format or an operation that is new may have no clocks yet."""

each = pytest.mark.parametrize(("operation", "form"), PAIRS)


def spec_of(operation: str, form: str, clock_ns: float | None) -> SwitchSpec:
    clock = {} if clock_ns is None else {"clock_ns": clock_ns}
    return validate(SwitchSpec, {"ports": 4, "operation": operation, "format": form, **clock}, "f")


def test_record_is_of_formats_and_operations_and_of_the_library_of_today() -> None:
    """Whether it is of the Verilog of today, ``tests/fred_cli/commands/test_records.py`` tests."""
    record, measurement = adder_delays(), AddersMeasurement()
    assert {(o, f) for o, its in record.delays_ns.items() for f in its} == set(PAIRS)
    assert list(measurement.other_inputs(record)) == []
    assert pytest.approx(CLOCK_NS, abs=0.0005) == REFERENCE_NS
    assert list(record.verilog_sha256) == list(measurement.specs)
    depths = [len(its) for of in record.delays_ns.values() for its in of.values()]
    assert sum(depths) == len(measurement.specs)


def test_what_nobody_measured_has_no_clocks() -> None:
    assert adder_delays().clocks_ns("sum", "new") == adder_delays().clocks_ns("mean", "fp16") == []


@each
def test_depth_is_the_least_that_meets_the_clock_and_never_grows_with_it(
    operation: str, form: str
) -> None:
    clocks = adder_delays().clocks_ns(operation, form)
    depths = []
    for clock_ns in sorted({*clocks, *(clock + 0.01 for clock in clocks)}, reverse=True):
        spec = spec_of(operation, form, clock_ns)
        depths.append(spec.adder_registers)
        assert clocks[depths[-1]] <= clock_ns < min([*clocks[: depths[-1]], 1e9])
    assert depths[0] == 0 and all(one <= other for one, other in pairwise(depths))


def test_integers_have_no_register_at_the_clock_of_the_fabric_and_floats_two_or_less() -> None:
    for name, form in ((form, FORMATS[form]) for operation, form in PAIRS if operation == "sum"):
        most = 2 if isinstance(form, FloatFormat) else 0
        assert spec_of("sum", name, REFERENCE_NS).adder_registers <= most


@each
def test_clock_that_no_depth_meets_is_refused(operation: str, form: str) -> None:
    shortest = min(adder_delays().clocks_ns(operation, form))
    with pytest.raises(InputError) as refused:
        spec_of(operation, form, shortest - 0.001)
    said = re.fullmatch(
        rf"f: clock_ns: must be (\S+) or more with auto registers in {operation} of {form}, "
        rf"not {shortest - 0.001:g}",
        str(refused.value),
    )
    assert said
    assert spec_of(operation, form, float(said[1])).clock_ns == float(said[1])


@pytest.mark.parametrize("clock", [0, 0.009, 1001, -1, True, None, "fast"])
def test_clock_that_is_none_is_refused(clock: object) -> None:
    message = rf"f: clock_ns: must be a number from 0\.01 to 1000, not {clock!r}"
    with pytest.raises(InputError, match=f"^{message}$"):
        validate(SwitchSpec, {"ports": 4, "clock_ns": clock}, "f")


def test_format_that_nobody_measured_is_refused_with_a_clock_alone() -> None:
    with FORMATS.lending("new", FloatFormat("new", 4, 3, has_infinity=False)):
        assert spec_of("sum", "new", None).adder_registers == 2
        message = r"^f: clock_ns: must be left out with auto registers in sum of new, not 0\.853$"
        with pytest.raises(InputError, match=message):
            spec_of("sum", "new", 0.853)
        given = {"ports": 4, "format": "new", "clock_ns": 0.853, "adder_registers": 1}
        assert validate(SwitchSpec, given, "f").adder_registers == 1


def test_operation_that_does_not_take_the_format_is_refused_before_its_clock() -> None:
    with pytest.raises(InputError, match=r"^f: operation: must be one of "):
        spec_of("none", "fp16", 0.853)
    assert OPERATIONS["sum"].takes(FORMATS["fp16"])


def test_clock_is_kept_and_latency_follows_the_depth() -> None:
    clocks = adder_delays().clocks_ns("sum", "fp16")
    slow, plain = spec_of("sum", "fp16", clocks[0]), spec_of("sum", "fp16", None)
    assert slow.adder_registers == 0 and plain.adder_registers == 2
    assert latency_cycles(plain) - latency_cycles(slow) == 2 * 2
    assert slow.name == f"{plain.name}_a0"
    assert SwitchSpec.model_validate(slow.model_dump()) == slow
    assert slow.with_changes(lanes=1).clock_ns == clocks[0]
    assert slow.with_changes(format="int8", adder_registers="auto").adder_registers == 0
    assert plain.clock_ns is None and "clock_ns" not in plain.model_dump()
    assert spec_of("sum", "fp16", 0.853).with_changes(adder_registers=5).adder_registers == 5
