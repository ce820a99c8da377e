"""Tests of fred_hw.ace.scratchpad; it has nothing that a reset clears."""

from fred_hw.ace.reader import load_layout
from fred_hw.ace.scratchpad import AceScratchpad
from tests.fred_hw.simulation import trace

from .works import SPEC, TWO, packed


def word(data: int, circuit: int = 1, slot: int = 0, place: int = 0) -> int:
    return packed(load_layout(SPEC), circuit=circuit, slot=slot, place=place, data=data)


def reads(name: str, circuit: int = 1, slot: int = 0, place: int = 0) -> dict[str, int]:
    where = {"valid": 1, "circuit": circuit, "slot": slot, "place": place}
    return {f"{name}.{key}": value for key, value in where.items()}


def test_latency_of_reads_of_different_slots_and_of_one() -> None:
    inputs = [
        {"loads": 1, "load": word(11), "stores": 1, "store": word(22, circuit=4, slot=1, place=7)},
        {},
        {**reads("operand"), **reads("send", circuit=4, slot=1, place=7)},
        {**reads("operand"), **reads("send", slot=0)},
        reads("send"),
        {},
    ]
    watch = ("operand.data", "send.data", "send.ready")
    seen = trace(AceScratchpad(spec=SPEC), inputs, watch)
    assert seen[3][:2] == (11, 22)
    assert [one[2] for one in seen[2:5]] == [1, 0, 1]
    assert seen[5][1] == 11


def test_word_from_memory_waits_while_one_is_written_back_to_its_slot() -> None:
    loads = {"loads": 1, "load": word(11, slot=1, place=3)}
    stores = {"stores": 1, "store": word(22, slot=1, place=2)}
    apart = [{"stores": 1, "store": word(22, slot=0)}, {"stores": 1, "store": word(2, 2, 1)}, {}]
    inputs = [{**loads, **one} for one in (stores, *apart)]
    ends = [reads("send", slot=1, place=3), reads("send", slot=1, place=2), {}]
    seen = trace(AceScratchpad(spec=SPEC), [*inputs, *ends], ("loads_ready", "send.data"))
    assert [one[0] for one in seen[:4]] == [0, 1, 1, 1]
    assert [one[1] for one in seen[-2:]] == [11, 22]


def test_throughput_of_all_ports_at_once_and_reset_clears_nothing() -> None:
    inputs = [
        {
            "loads": 1,
            "load": word(k, slot=0, place=k),
            "stores": 1,
            "store": word(100 + k, slot=1, place=k),
        }
        for k in range(8)
    ]
    inputs.append({"rst": 1})
    inputs += [
        {**reads("operand", slot=0, place=k), **reads("send", slot=1, place=k)} for k in range(8)
    ]
    seen = trace(AceScratchpad(spec=SPEC), [*inputs, {}], ("operand.data", "send.data"))
    assert seen[-8:] == [(k, 100 + k) for k in range(8)]


def test_words_of_both_ports_and_one_that_is_written_back_go_to_a_memory_one_by_one() -> None:
    """First what is written back, then what is sent as it is; to other memories all at once."""
    store = {"stores": 1, "store": word(1, slot=1, place=0)}
    load = {"loads": 1, "load": word(2, slot=1, place=2)}
    operand = {"operand_loads": 1, "operand_load": word(3, slot=1, place=4)}
    apart = {"stores": 1, "store": word(4, slot=0), "loads": 1, "load": word(5, circuit=4, slot=1)}
    odd = {"stores": 1, "store": word(6, slot=1, place=5), "loads": 1, "load": word(7, slot=1)}
    inputs = [{**store, **load, **operand}, {**load, **operand}, operand, {**apart, **operand}]
    inputs += [{**odd, "operand_loads": 1, "operand_load": word(8, slot=1, place=3)}]
    ends = [reads("send", slot=1, place=k) for k in (2, 4, 5, 0)]
    ends += [reads("send", slot=0), reads("send", circuit=4, slot=1), {}]
    watch = ("loads_ready", "operand_loads_ready", "send.data")
    seen = trace(AceScratchpad(spec=TWO), [*inputs, *ends], watch)
    assert [one[:2] for one in seen[:5]] == [(0, 0), (1, 0), (1, 1), (1, 1), (1, 0)]
    assert [one[2] for one in seen[-6:]] == [2, 3, 6, 7, 4, 5]


def test_throughput_of_a_part_sent_while_the_next_one_comes_to_its_slot() -> None:
    """Both begin at even places: one waits for a cycle, then both have a word in each."""
    loads = [{"loads": 1, "load": word(10 + k, place=k)} for k in range(8)]
    at, inputs, got = 0, list[dict[str, int]](), list[int]()
    # What is sent has places 0 to 3, what comes is added to 4 to 7.
    for cycle in range(5):
        both = reads("operand", place=4 + cycle) if cycle < 4 else {}
        inputs.append({**both, **reads("send", place=at)})
        at += cycle > 0
    watch = ("operand.data", "send.data", "send.ready")
    seen = trace(AceScratchpad(spec=TWO), [*loads, *inputs, {}], watch)[8:]
    assert [one[2] for one in seen[:5]] == [0, 1, 1, 1, 1]
    assert [one[0] for one in seen[1:5]] == [14, 15, 16, 17]
    got = [one[1] for one in seen[2:6]]
    assert got == [10, 11, 12, 13]
    # With one port to memory a slot is one memory, and all four wait.
    whole = trace(AceScratchpad(spec=SPEC), [*loads, *inputs, {}], watch)[8:]
    assert [one[2] for one in whole[:5]] == [0, 0, 0, 0, 1]
