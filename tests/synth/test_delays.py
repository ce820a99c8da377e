"""Tests of synth.delays: tables of cells, and which cells may stand for each other."""

import re
from pathlib import Path

import numpy as np
import pytest

from fred_hw.errors import InputError
from synth.delays import Table, look_up, read_delays
from synth.liberty import read_libraries
from tests.synth.sloped import sloped_liberty, sloped_libraries


def test_cells_of_the_same_function_and_pins_are_read_too(tmp_path: Path) -> None:
    libraries = sloped_libraries(tmp_path)
    cells = read_delays(libraries, ["NAND2", "DFF"])
    assert cells["NAND2"].function == cells["NAND2X4"].function, "written in another way"
    assert cells["DFF"].function == cells["DFFX4"].function
    others = {name: cells[name].function for name in ("NAND2", "NOR2", "DFF", "DFFN")}
    assert len(set(others.values())) == 4, "the same pins, but not the same function"


def test_tables_have_all_edges(tmp_path: Path) -> None:
    cells = read_delays(sloped_libraries(tmp_path), ["NAND2", "BUF", "DFF"])
    rise, fall = 0, 1
    assert set(cells["NAND2"].arcs) == {
        (pin, edge, "Y", 1 - edge) for pin in "AB" for edge in (rise, fall)
    }
    assert set(cells["BUF"].arcs) == {("A", edge, "Y", edge) for edge in (rise, fall)}
    assert set(cells["DFF"].arcs) == {("CK", rise, "Q", edge) for edge in (rise, fall)}
    assert set(cells["DFF"].checks) == {("D", rise), ("D", fall)}
    table = cells["NAND2"].arcs["A", rise, "Y", fall].delay
    assert table.slews.tolist() == table.loads.tolist() == [1, 10, 100]
    assert np.allclose(table.values[0], [6 + 1 / 4 + 5 * load for load in (1, 10, 100)])
    assert cells["NAND2"].loads == {"A": (1.0, 1.0), "B": (1.0, 1.0)}
    assert cells["NAND2"].most == {"Y": 1000}


def test_look_up_broadcasts_and_is_linear_between_and_beyond_the_points() -> None:
    table = Table(np.array([0.0, 1.0]), np.array([0.0, 10.0]), np.array([[1.0, 2.0], [3.0, 8.0]]))
    assert look_up(table, np.array([0.0, 0.5, 2.0]), np.array([5.0, 5.0, 0.0])).tolist() == [
        1.5,
        3.5,
        5.0,
    ]
    grid = look_up(table, np.array([[0.0], [1.0]]), np.array([0.0, 10.0, 20.0]))
    assert grid.tolist() == [[1.0, 2.0, 3.0], [3.0, 8.0, 13.0]]


def test_tables_turned_round_are_the_same(tmp_path: Path) -> None:
    turned = sloped_liberty().replace("variable_1 : input_net", "variable_2 : input_net")
    turned = turned.replace("variable_2 : total", "variable_1 : total")
    (tmp_path / "turned.lib").write_text(turned)
    one = read_delays(sloped_libraries(tmp_path), ["INV"])["INV"]
    other = read_delays(read_libraries([tmp_path / "turned.lib"]), ["INV"])["INV"]
    key = ("A", 0, "Y", 1)
    assert np.allclose(one.arcs[key].delay.values, other.arcs[key].delay.values.T)


def test_of_two_tables_the_slower_one_counts(tmp_path: Path) -> None:
    text = sloped_liberty()
    found = re.search(r"timing \(\) \{ related_pin : \"A\"; timing_sense.*\n", text)
    assert found
    slower = found[0].replace('"8.25, 44.25, ', '"1.25, 99.25, ')
    (tmp_path / "two.lib").write_text(text.replace(found[0], found[0] + slower, 1))
    cell = read_delays(read_libraries([tmp_path / "two.lib"]), ["INV"])["INV"]
    assert cell.arcs["A", 1, "Y", 0].delay.values[0].tolist() == [8.25, 99.25, 404.25]


def test_tables_without_all_numbers_are_refused(tmp_path: Path) -> None:
    text = re.sub(r'(cell_rise \(load\) \{ values \(")[\d.]+, ', r"\1", sloped_liberty(), count=1)
    (tmp_path / "short.lib").write_text(text)
    message = r"^.*short\.lib: cell INV: must have numbers in timing tables, one for each pair of "
    with pytest.raises(InputError, match=message):
        read_delays(read_libraries([tmp_path / "short.lib"]), ["INV"])
