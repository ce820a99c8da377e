"""The command line run in this process."""

import json
import sys
from typing import Any

import pytest

from fred_cli.main import main

__all__ = ["Fred"]


class Fred:
    """Runs `fred`: called with arguments, it returns exit status, output and errors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["fred", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        said = self._capfd.readouterr()
        return ended.value.code, said.out, said.err

    def out(self, *arguments: str) -> str:
        """Return the output of what must end well, and complain of nothing."""
        status, out, err = self(*arguments)
        assert (status, err) == (0, "")
        return out

    def json(self, *arguments: str) -> Any:
        """Return the JSON that such prints where it is asked for it."""
        return json.loads(self.out(*arguments, "--json"))
