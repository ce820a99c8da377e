"""Tests of gen.halves."""

import os
import signal

import psutil
import pytest

from fred_hw.spec import SwitchSpec
from gen import emitter
from gen.design import generate
from gen.halves import made_in_halves

SIZES = {"a": 5, "b": 3, "c": 2, "d": 1}
HERE = os.getpid()

needs_copies = pytest.mark.skipif(
    (os.cpu_count() or 1) < 2 or not hasattr(os, "fork"), reason="one core, or no copies"
)


@needs_copies
def test_half_is_made_by_a_copy() -> None:
    begun: list[int] = []
    found = made_in_halves(SIZES, lambda name: f"{name} {os.getpid() == HERE}", begun.append)
    assert found == {"a": "a True", "d": "d True", "b": "b False", "c": "c False"}
    assert sorted(begun) == sorted(SIZES.values())


@pytest.mark.parametrize("how", ["raises", "ends", "is killed"])
def test_what_a_copy_does_not_bring_is_made_here(how: str) -> None:
    def make(name: str) -> str:
        if os.getpid() != HERE and name == "c":
            if how == "raises":
                raise RuntimeError(name)
            if how == "ends":
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
        return name * 100_000

    assert made_in_halves(SIZES, make, lambda _: None) == {name: name * 100_000 for name in SIZES}


def test_an_error_is_that_of_the_work_and_leaves_no_process() -> None:
    def make(name: str) -> str:
        if os.getpid() == HERE:
            raise RuntimeError(name)
        signal.pause()
        return name

    before = psutil.Process().children()
    with pytest.raises(RuntimeError, match=r"^a$"):
        made_in_halves(SIZES, make, lambda _: None)
    assert psutil.Process().children() == before


def test_one_part_is_made_here() -> None:
    assert made_in_halves({"a": 1}, lambda _: str(os.getpid()), lambda _: None) == {"a": str(HERE)}


def test_modules_in_halves_are_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, texts = SwitchSpec(ports=3, lanes=1, format="int8"), []
    for least in (1, 10**9):
        monkeypatch.setattr(emitter, "_WORTH_A_COPY", least)
        texts.append(generate(spec).verilog)
    assert texts[0] == texts[1]
