"""The control unit in co-simulation, and broken ones that its bench must notice."""

# Amaranth has no types.
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportReturnType=false
# pyright: reportGeneralTypeIssues=false

import subprocess
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal, Value

from fred_hw.control.axi_lite import AxiLiteRegisters
from fred_hw.control.counter import SaturatingCounter
from fred_hw.control.registers import Word
from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.control.unit import ControlUnit
from fred_hw.load import load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.companions.vlt import lint_waivers
from gen.emitter import VerilogEmitter
from testbench.cosimulation.control import cosimulate_control
from testbench.sim.tools import icarus_bin, verilator_bin

pytestmark = pytest.mark.sim

SPEC = SwitchSpec(ports=4, lanes=2)
CASES = {
    "four ports": SPEC,
    "two ports, five phases": SwitchSpec(ports=2, lanes=1, protocol=ProtocolSpec(phases=5)),
    "seven ports, two phases": SwitchSpec(ports=7, lanes=4, protocol=ProtocolSpec(phases=2)),
    "l1-12, without link": load_spec("l1-12").with_changes(protocol=ProtocolSpec(link=False)),
}


@pytest.mark.parametrize("spec", CASES.values(), ids=CASES.keys())
def test_control_unit_passes_its_regression(spec: SwitchSpec, tmp_path: Path) -> None:
    run = cosimulate_control(spec, tmp_path)
    assert run.failures == ()
    assert len(run.tests) == 32


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("seed", [2, 3])
def test_both_simulators_pass(simulator: str, seed: int, tmp_path: Path) -> None:
    run = cosimulate_control(SPEC, tmp_path, simulator=simulator, seed=seed)
    assert run.failures == ()


class DropsAnswers(AxiLiteRegisters):
    """Offers the answer to a write for one cycle only."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        with m.If(self.s_axil_bvalid):
            m.d.sync += self.s_axil_bvalid.eq(0)
        return m


class ChangesData(AxiLiteRegisters):
    """Changes what was read while nobody takes it."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        with m.If(self.s_axil_rvalid & ~self.s_axil_rready):
            m.d.sync += self.s_axil_rdata.eq(self.s_axil_rdata ^ 1)
        return m


class IgnoresStrobes(AxiLiteRegisters):
    """Writes whole words whatever the strobes say."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.bad_strobe.eq(0)
        return m


class HidesAddresses(AxiLiteRegisters):
    """Answers accesses to no register rightly but does not report them."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.bad_address.eq(0)
        return m


class TakesAnything(AxiLiteRegisters):
    """Ignores the two lowest bits of addresses."""

    def _hits(self, address: Value, words: list[Word]) -> list[Value]:
        return [address[2:] == word.address >> 2 for word in words]


class CountsOnce(SaturatingCounter):
    """Counts one event per cycle."""

    def build(self, platform: object) -> Module:
        m = Module()
        with m.If(self.clear):
            m.d.sync += self.count.eq(0)
        with m.Elif(self.events.any()):
            m.d.sync += self.count.eq(self.count + 1)
        return m


class Unlocked(ControlUnit):
    """Lets software write the staging while it is written to the core."""

    def _commands(self, m: Module, registers: AxiLiteRegisters) -> Signal:
        refused = super()._commands(m, registers)
        m.d.comb += registers.lock.eq(0)
        return refused


class LoadsEarly(ControlUnit):
    """Loads the stored entry in the second cycle after the command."""

    def _commands(self, m: Module, registers: AxiLiteRegisters) -> Signal:
        refused = super()._commands(m, registers)
        early = Signal(2)
        m.d.sync += early.eq(early << 1 | (registers.command_command == COMMANDS.index("load")))
        m.d.comb += registers.entry_value_load.eq(early[1])
        return refused


class HidesRefusals(ControlUnit):
    """Does not tell that the core has refused an entry."""

    def _commands(self, m: Module, registers: AxiLiteRegisters) -> Signal:
        refused = super()._commands(m, registers)
        m.d.comb += registers.command_status_refused.eq(0)
        return refused


class GivesUp(ControlUnit):
    """Ends a write after its first cycle."""

    def _commands(self, m: Module, registers: AxiLiteRegisters) -> Signal:
        refused = super()._commands(m, registers)
        with m.If(self.table.write):
            m.d.sync += self.table.write.eq(0)
        return refused


class NeverFreezes(ControlUnit):
    """Counts on when counters should stand still."""

    def _counters(self, m: Module, registers: AxiLiteRegisters) -> None:
        class Running:
            control_freeze = Signal()

            def __getattr__(self, name: str) -> object:
                return getattr(registers, name)

        super()._counters(m, Running())


def registers(kind: type[AxiLiteRegisters]) -> Unit:
    return kind(registers=switch_map(SPEC))


BROKEN = {
    "answers dropped": (registers(DropsAnswers), "written_values_stay"),
    "data changes": (registers(ChangesData), "registers_read_their_reset_values"),
    "strobes ignored": (registers(IgnoresStrobes), "writes_of_less_than_a_word_are_refused"),
    "addresses not reported": (registers(HidesAddresses), "addresses_of_no_register_are_refused"),
    "unaligned": (registers(TakesAnything), "addresses_of_no_register_are_refused"),
    "ports counted once": (
        CountsOnce(sources=SPEC.ports, width=32),
        "errors_of_all_ports_are_counted",
    ),
    "no lock": (Unlocked(spec=SPEC), "staging_is_locked_while_an_entry_is_written"),
    "early load": (LoadsEarly(spec=SPEC), "entries_are_written_read_and_erased"),
    "refusal hidden": (HidesRefusals(spec=SPEC), "entries_are_written_read_and_erased"),
    "write given up": (GivesUp(spec=SPEC), "entries_are_written_read_and_erased"),
    "freeze ignored": (NeverFreezes(spec=SPEC), "counters_count_unless_frozen"),
}


@pytest.mark.parametrize(("unit", "test"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_unit_is_noticed(unit: Unit, test: str, tmp_path: Path) -> None:
    emitter = VerilogEmitter({unit.unit_name: unit})
    run = cosimulate_control(SPEC, tmp_path, emitter=emitter, tests=[test])
    assert run.failures != ()


UNITS = {
    "four ports": SPEC,
    "one phase": SwitchSpec(ports=2, lanes=1, protocol=ProtocolSpec(phases=1)),
    "l1-12": load_spec("l1-12"),
}


def written(spec: SwitchSpec, folder: Path) -> tuple[Path, str]:
    """Write the Verilog of a control unit; return its file and its name."""
    unit, emitter = ControlUnit(spec=spec), VerilogEmitter()
    emitter.add(unit)
    path = folder / f"{unit.unit_name}.v"
    path.write_text(emitter.verilog())
    return path, unit.unit_name


@pytest.mark.parametrize("spec", UNITS.values(), ids=UNITS.keys())
def test_verilator_finds_nothing(spec: SwitchSpec, tmp_path: Path) -> None:
    path, name = written(spec, tmp_path)
    waivers = tmp_path / "waivers.vlt"
    waivers.write_text(lint_waivers(name))
    folder = verilator_bin()
    assert folder is not None
    command = [str(folder / "verilator"), "--lint-only", "-Wall", "--top-module", name]
    said = subprocess.run(
        [*command, str(waivers), str(path)], capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("spec", UNITS.values(), ids=UNITS.keys())
def test_icarus_reads_it(spec: SwitchSpec, tmp_path: Path) -> None:
    path, _ = written(spec, tmp_path)
    folder = icarus_bin()
    assert folder is not None
    said = subprocess.run(
        [str(folder / "iverilog"), "-t", "null", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")
