"""Tests of gen.names, and that all generated names are plain."""

import re

import pytest

from fred_hw.load import load_spec
from fred_hw.mesh.spec import MeshSpec
from gen import emitter
from gen.design import Design, generate
from gen.keywords import KEYWORDS
from gen.level import LEVELS
from gen.names import with_names
from testbench.sim.kept import kept

MODULE = r"""module \top
  wire input 1 \a
  wire output 2 \o
  wire $1
  wire width 2 $2
  wire $10
  wire \o_1
  wire \o$7
  wire \x.y
  wire \x.y[0]
  wire \x__y
  wire \before
  memory width 2 size 2 \m[0]
  cell $not $5
    parameter \A_SIGNED 0
    connect \A \a
    connect \Y $1
  end
  cell $add $6
    connect \A $1
    connect \B \o_1
    connect \Y { $2 [1] \o }
  end
  cell $memrd_v2 $8
    parameter \MEMID "\\m[0]"
    connect \ADDR \before
    connect \DATA { \x.y \o$7 }
  end
  cell \part \one$3
    connect \i $10
    connect \y \x.y[0]
  end
  connect $2 [0] \o
end
"""


def names(rtlil: str) -> dict[str, str]:
    """Return the new name of each net, memory and instance."""
    defined = re.compile(r"^  (?:wire|memory|cell \\).* ([\\$]\S+)$", re.MULTILINE)
    new = defined.findall(with_names(rtlil))
    return dict(zip(defined.findall(rtlil), (name[1:] for name in new), strict=True))


def test_nets_are_called_after_what_they_go_into() -> None:
    found = names(MODULE)
    assert (found["$1"], found["$2"]) == ("o_3", "o_4")
    assert found["$10"] == "one_2_i_1"


def test_other_names_become_plain_and_stay_distinct() -> None:
    found = names(MODULE)
    assert found[r"\o$7"] == "o_2"
    assert (found[r"\x.y"], found[r"\x__y"], found[r"\x.y[0]"]) == ("x__y_2", "x__y", "x__y_0")
    assert (found[r"\before"], found[r"\m[0]"], found[r"\one$3"]) == ("before_net", "m_0", "one_2")
    assert len(set(found.values())) == len(found)


def test_all_uses_of_a_name_change() -> None:
    text = with_names(MODULE)
    assert r'MEMID "\\m_0"' in text
    assert "connect \\ADDR \\before_net\n    connect \\DATA { \\x__y_2 \\o_2 }" in text
    assert "cell \\part \\one_2\n    connect \\i \\one_2_i_1\n    connect \\y \\x__y_0\n" in text


def test_operators_are_called_after_what_they_drive() -> None:
    assert re.findall(r"cell \$\w+ (\S+)", with_names(MODULE)) == [
        "$o_000003$5",
        "$o$6",
        "$8",
    ]


def test_what_goes_nowhere_has_a_name_too() -> None:
    text = "module \\top\n  wire input 1 \\a\n  wire $1\n  connect $1 \\a\nend\n"
    assert with_names(text) == text.replace("$1", "\\net_1")


def test_names_do_not_depend_on_the_order_of_the_text() -> None:
    wires = "  wire $1\n  wire width 2 $2\n"
    other = MODULE.replace(wires, "".join(f"{one}\n" for one in wires.split("\n")[1::-1]))
    assert other != MODULE
    assert names(other) == names(MODULE)


def test_no_port_may_be_named_like_a_keyword() -> None:
    text = "module \\top\n  wire width 2 input 1 \\case\n  wire output 2 \\cases\nend\n"
    with pytest.raises(ValueError, match=r"^ports must not be keywords .* \['case'\] in .*top"):
        with_names(text)


def test_all_keywords_of_both_standards_are_known() -> None:
    # IEEE 1364-2005 has 123 keywords, IEEE 1800-2017 has 248; the former are among the latter.
    assert len(KEYWORDS) == 248
    assert {"large", "pulsestyle_ondetect", "interconnect", "s_until_with"} <= KEYWORDS


def check_names(design: Design) -> None:
    """Check the names and the lines of a design."""
    text = re.sub(r"//.*|/\*.*?\*/", "", design.verilog)
    assert "\\" not in text
    assert set(re.findall(r"\$\w+", text)) <= {"$signed"}
    assert not [line for line in design.verilog.split("\n") if len(line) > 100]
    declared = re.compile(
        r"^  (?:input|output|wire|reg) (?:signed )?(?:\[[^]]*\] )?(\w+)|^  \w+ (\w+) \($", re.M
    )
    assert not {one for both in declared.findall(text) for one in both} & KEYWORDS
    assert len(re.findall(r"^// Source: \w+\.", design.verilog, re.M)) == len(design.modules)


def test_names_and_lines_of_an_interconnect_are_plain() -> None:
    check_names(kept(generate, load_spec("tiny-2")))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["switch", "endpoint", "terminator"])
def test_names_and_lines_are_plain(level: str) -> None:
    check_names(kept(generate, load_spec("tiny-2"), level=level))


@pytest.mark.slow
def test_names_and_lines_of_a_chiplet_are_plain() -> None:
    check_names(kept(generate, load_spec("l1-12"), level="switch"))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["mesh", "router"])
def test_names_and_lines_of_a_mesh_are_plain(level: str) -> None:
    mesh = MeshSpec(width=1, height=2, lanes=1, format="int8", controllers=False)
    check_names(kept(generate, mesh, level=level))


def twins(
    monkeypatch: pytest.MonkeyPatch, source: str, level: str, changes: dict[str, object]
) -> set[tuple[str, str]]:
    """Return unit and name of all nets, memories and instances that share their name.

    Amaranth puts ``$`` and a number behind such a name, and ``$`` before one that it makes up.
    """
    texts = list[str]()

    def kept_text(rtlil: str) -> str:
        texts.append(rtlil)
        return with_names(rtlil)

    monkeypatch.setattr(emitter, "with_names", kept_text)
    units = generate((LEVELS[level].load or load_spec)(source, changes), level=level).units
    modules = re.findall(r"^module \\(\S+)\n(.*?)^end$", "\n".join(texts), re.M | re.S)
    assert {name for name, _ in modules} == units.keys()
    shared = re.compile(r"^  (?:wire|memory|cell \\).* \\(\S*)\$\S*$", re.M)
    return {(units[name], found) for name, text in modules for found in shared.findall(text)}


MESH = "examples/mesh-torus-4x4.yaml"
DESIGNS: list[tuple[str, str, dict[str, object]]] = [
    ("small-4", "switch", {}),
    ("odd-5", "switch", {}),
    ("small-4", "endpoint", {}),
    ("small-4", "endpoint", {"endpoint.read_ports": 2, "endpoint.schedule_entries": 16}),
    ("small-4", "terminator", {}),
    (MESH, "router", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "level", "changes"), DESIGNS)
def test_no_two_nets_of_a_unit_share_a_name(
    monkeypatch: pytest.MonkeyPatch, source: str, level: str, changes: dict[str, object]
) -> None:
    """Numbered names such as ``came_2`` do not say which of two signals a net is."""
    assert not twins(monkeypatch, source, level, changes)


@pytest.mark.parametrize("level", ["interconnect", "crossbar", "benes"])
def test_no_two_nets_of_a_network_share_a_name(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    assert not twins(monkeypatch, "small-4", level, {})
