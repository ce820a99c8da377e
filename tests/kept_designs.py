"""Commands of one process that generate no design twice."""

from typing import Any

import pytest

from fred_hw.files import FileModel
from gen.design import Design, generate
from gen.emitter import VerilogEmitter
from testbench.sim.kept import kept

__all__ = ["keep_designs"]


def _generate(spec: FileModel, emitter: VerilogEmitter | None = None, **more: Any) -> Design:
    # Modules that are first read during a test have this one, which they may give an emitter.
    return generate(spec, emitter, **more) if emitter else kept(generate, spec, **more)


def keep_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take designs that a command generates from those that are kept."""
    for module in ("gen.design", "synth.synthesis"):
        monkeypatch.setattr(f"{module}.generate", _generate)
