"""Tests of synth.process."""

import os
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.process import running


def test_a_worker_is_ended_whatever_happens(tmp_path: Path) -> None:
    begun: list[int] = []

    def interrupted() -> None:
        with running(tmp_path / "log", "source") as worker:
            begun.append(worker.pid)
            os.kill(worker.pid, 0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(ProcessLookupError):
        os.kill(begun[0], 0)


def test_a_worker_that_dies_says_so(tmp_path: Path) -> None:
    with running(tmp_path / "log", "source") as worker:
        for _ in range(2):
            with pytest.raises(
                InputError, match=r"^source: must be Verilog that Yosys maps, not with: "
            ):
                worker.do("read", verilog="missing.v", top="a", flat=False)
