"""Some of what `make fuzz` does for longer, counted in inputs: the same on any machine."""

import pytest

from tests.fred_cli.walk import commands
from tests.fuzz.fuzz import fuzz
from tests.fuzz.lines import COMMANDS
from tests.fuzz.targets import TARGETS

NOT_AT_ALL = {"characterize", "doctor", "formal"}
NOT_AT_ALL |= {"records list", "records check", "records update"}
"""Commands that would have simulators or solvers run, and those that read what is installed."""

LEFT_OUT = {
    "estimate": {"--schedule", "--chart", "--rtl", "--record"},
    "chakra convert": {"--workload", "--topology"},
    "compare": {"--hardware"},
    "cluster": {"--chart"},
    "repurpose": {"--test", "--baselines", "--chart"},
    "strategies": {"--chart"},
    "reproduce": {"--csv", "--rtl", "--record", "--chart"},
    "collective": {"--protocol"},
    "sim": {"--sim", "--netlist", "--liberty"},
    "gen": {"--output"},
    "report": {"--evidence"},  # takes minutes
}
"""Options that others read alike, and those with which hardware and pages would be made."""


def test_every_command_is_fuzzed_with_its_options() -> None:
    drawn: dict[str, set[str]] = {}
    for line, options in COMMANDS.items():
        words = line.split()
        name = " ".join(
            words[: {"chakra": 2, "examples": 2, "roce": 3, "study": 2}.get(words[0], 1)]
        )
        drawn.setdefault(name, {"--json"}).update(*options, words)
    for name, context in commands():
        options = [
            one
            for one in context.command.params
            if one.opts[-1].startswith("--") and not getattr(one, "hidden", False)
        ]
        lacking = {
            one.opts[-1]
            for one in options
            if not {*one.opts, *one.secondary_opts} & drawn.get(name, set())
        }
        if name not in NOT_AT_ALL:
            assert lacking == LEFT_OUT.get(name, set()), name
    assert {*drawn} | NOT_AT_ALL == {name for name, _ in commands()}


@pytest.mark.slow(10)
@pytest.mark.parametrize("inputs", [1_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_no_input_ends_in_anything_but_a_line(inputs: int) -> None:
    ran = fuzz(inputs, 600, 1000)
    assert {*ran} == {*TARGETS} and ran.total() >= inputs
