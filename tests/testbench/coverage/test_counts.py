"""Files of Verilator's coverage are read, and instances of a module are added up."""

from pathlib import Path

import pytest

from testbench.coverage.counts import Place, module_starts, read_counts

VERILOG = (
    "/* generated */\nmodule inner(i, o);\n  assign o = i;\nendmodule\nmodule top(i);\nendmodule\n"
)


def entry(page: str, line: int, name: str, hierarchy: str, count: int) -> str:
    fields = {"f": "top.v", "l": line, "n": 3, "page": page, "o": name, "h": hierarchy}
    text = "".join(f"\1{key}\2{value}" for key, value in fields.items())
    return f"C '{text}' {count}\n"


def test_lines_count_from_the_beginning_of_their_module() -> None:
    assert module_starts(VERILOG) == {"inner": 2, "top": 5}


def test_instances_of_a_module_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "coverage.dat"
    path.write_text(
        "# SystemC::Coverage-3\n"
        + entry("v_branch/inner", 3, "cond_then", "top.a", 2)
        + entry("v_branch/inner", 3, "cond_then", "top.b", 5)
        + entry("v_toggle/inner", 3, "o:0->1", "top.a", 0)
        + entry("v_user/inner_points", 9, "meets", "top.a.points", 1)
        + entry("v_line/$root", 1, "block", "top", 8)
    )
    assert read_counts(path, module_starts(VERILOG)) == {
        Place("branch", "inner", 2, "3 cond_then"): 7,
        Place("toggle", "inner", 2, "o:0->1"): 0,
        Place("user", "inner_points", 0, "meets"): 1,
    }


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "coverage.dat"
    path.write_text("# SystemC::Coverage-3\n1 2 3\n")
    with pytest.raises(ValueError, match=r"must hold counts of Verilator, not '1 2 3'"):
        read_counts(path, {})
