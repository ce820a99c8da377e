"""Tests of fred_hw.control.switch_map."""

import pytest

from fred_hw.control.phase_entry import entry_bits
from fred_hw.control.switch_map import CAUSES, ID, PORT_CAUSES, PORT_COUNTERS, VERSION, switch_map
from fred_hw.load import PRESETS, load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec

LARGEST = SwitchSpec(ports=64, middle_switches=8, format="fp32", lanes=256)


def test_id_reads_as_letters() -> None:
    assert f"{ID:08x}" == "46524544"
    assert ID.to_bytes(4, "big") == b"FRED"


@pytest.mark.parametrize("preset", PRESETS)
def test_constants_are_those_of_the_specification(preset: str) -> None:
    spec = load_spec(preset)
    registers = switch_map(spec)
    shape, flit = registers.register("SHAPE"), registers.register("FLIT")
    assert {field.name: field.value for field in shape.fields} == {
        "ports": spec.ports,
        "middle_switches": spec.middle_switches,
        "phases": spec.protocol.phases,
        "packet_flits": spec.protocol.packet_flits,
    }
    assert flit.field("data_bytes").value * 8 == spec.data_width
    assert flit.field("entry_words").value == registers.register("ENTRY").words
    assert registers.register("ENTRY").total_bits == entry_bits(spec)


def test_addresses_are_the_same_for_all_switches() -> None:
    small, large = switch_map(SwitchSpec(ports=2)), switch_map(LARGEST)
    assert [(one.name, one.address) for one in small.registers] == [
        (one.name, one.address) for one in large.registers
    ]


def test_largest_switch_has_space() -> None:
    # 305 664 bits of configuration, 2 x 64 x 7 of flows, 2, 1 and 3.
    entry = switch_map(LARGEST).register("ENTRY")
    assert entry.words == -(-(305664 + 896 + 6) // 32)
    assert switch_map(LARGEST).address_bits == 16


def test_counters_of_ports_find_space_around_those_that_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {one.name: one.address for one in switch_map(LARGEST).registers}
    count = 0x600 // 0x100  # more than there is space for below the routes, whatever is there
    for number in range(count):
        monkeypatch.setitem(PORT_COUNTERS, f"new_{number}", "Events")
    after = {one.name: one.address for one in switch_map(LARGEST).registers}
    assert {name: after[name] for name in before} == before
    found = [after[f"NEW_{number}"] for number in range(count)]
    assert found == sorted(found)
    assert found[-1] >= 0xA000
    assert all(address % 0x100 == 0 and address < 0xC000 for address in found)


def test_causes_are_the_same_everywhere() -> None:
    registers = switch_map(SwitchSpec(ports=4))
    for name in ("ERROR", "IRQ_ENABLE"):
        assert [field.name for field in registers.register(name).fields] == list(CAUSES)
    assert registers.register("ERROR_FIRST").field("cause").names == tuple(CAUSES)
    assert registers.register("ERROR_COUNT").words == len(CAUSES)


def test_causes_keep_their_bits() -> None:
    first = ("phase", "length", "kind", "overflow", "stuck", "configuration", "address", "strobe")
    fields = switch_map(SwitchSpec(ports=4)).register("ERROR").fields
    assert {field.name: field.low for field in fields[: len(first)]} == {
        cause: bit for bit, cause in enumerate(first)
    }
    assert set(CAUSES) - set(PORT_CAUSES) == {"configuration", "address", "strobe"}


def test_different_switches_have_different_names() -> None:
    specs = [
        SwitchSpec(ports=4),
        SwitchSpec(ports=5),
        SwitchSpec(ports=4, middle_switches=2),
        SwitchSpec(ports=4, lanes=8),
        SwitchSpec(ports=4, protocol=ProtocolSpec(phases=5)),
        SwitchSpec(ports=4, protocol=ProtocolSpec(packet_flits=7)),
    ]
    assert len({switch_map(spec).name for spec in specs}) == len(specs)


def test_published_memory_holds_28_phases_of_twelve_ports() -> None:
    # 28 entries of 438 bits are 1533 bytes; 29 are 1587.75.
    assert (
        "438 bits. The published 1.5 KB hold 28 of them"
        in switch_map(load_spec("l1-12")).description
    )


@pytest.mark.parametrize(("phases", "words"), [(1, 1), (32, 1), (33, 2), (64, 2)])
def test_every_phase_has_a_bit_of_queued(phases: int, words: int) -> None:
    queued = switch_map(SwitchSpec(ports=2, protocol=ProtocolSpec(phases=phases))).register(
        "QUEUED"
    )
    assert (queued.words, queued.total_bits) == (words, phases)


def test_major_version_is_3_and_the_register_has_both() -> None:
    # The minor one is in docs/reference/registers.md, which a test holds against the map.
    fields = switch_map(SwitchSpec(ports=4)).register("VERSION").fields
    assert {field.name: field.value for field in fields} == {"major": 3, "minor": VERSION[1]}
