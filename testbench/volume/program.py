"""C++ harnesses: build and run."""

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fred_hw.spec import SwitchSpec
from testbench.models.protocol_header import protocol_header, protocol_sizes

from .conditions import FAULT_KINDS

__all__ = ["harness_sources", "program_sources", "run_program"]

_FOLDER = Path(__file__).parent
_TIMEOUT_S = 900


def program_sources(harness: Path) -> dict[str, str]:
    """Return the source files of a program: the common ones, and the one that defines ``run``."""
    files = [_FOLDER / name for name in ("program.hpp", "program.cpp", "random.hpp")]
    return {path.name: path.read_text() for path in (*files, harness)}


def harness_sources(
    bench: str, top: str, spec: SwitchSpec | None = None, lines: Sequence[str] = ()
) -> dict[str, str]:
    """Return the source files of a harness, with the header that describes its model.

    Parameters
    ----------
    bench : str
        File beside this one that defines ``run``.
    top : str
        The Verilated module.
    spec : SwitchSpec, optional
        Sizes.
    lines : sequence of str
        More of the header.
    """
    files = {path.name: path.read_text() for path in sorted(_FOLDER.glob("*.hpp"))}
    files |= program_sources(_FOLDER / bench)
    text = [
        "#pragma once",
        f'#include "V{top}.h"',
        '#include "verilated.h"',
        f"using Top = V{top};",
    ]
    if spec:
        for name in ("endpoint.hpp", "flows.hpp"):
            files[name] = (_FOLDER.parent / "models" / name).read_text()
        files["protocol.hpp"] = protocol_header(spec.protocol)
        sizes = protocol_sizes(spec)
        text.append('#include "protocol.hpp"')
        text += [f"constexpr unsigned {name.upper()} = {value};" for name, value in sizes.items()]
        text.append(f"enum Fault : unsigned {{ {', '.join(FAULT_KINDS).upper()}, FAULTS }};")
        names = ", ".join(f'"{kind}"' for kind in FAULT_KINDS)
        text.append(f"inline constexpr const char* FAULT_NAMES[] = {{{names}}};")
        text.append(f"constexpr Sizes SIZES{{{', '.join(map(str, sizes.values()))}}};")
        text.append(f"using Data = {'IData' if spec.data_width <= 32 else 'QData'};")
    files["model.hpp"] = "\n".join([*text, *lines, ""])
    return files


def run_program(
    program: Path,
    options: Mapping[str, float],
    plusargs: Sequence[str] = (),
    scenario: Iterable[int] | None = None,
    *,
    folder: Path | None = None,
    timeout_s: float | None = _TIMEOUT_S,
) -> dict[str, Any]:
    """Run a harness; return its output, and as ``state`` its standard error.

    Parameters
    ----------
    program : Path
        The harness.
    options : mapping of str to float
        Options by the names that the harness reads; others are refused.
    plusargs : sequence of str
        Arguments of the model, each with its "+".
    scenario : iterable of int, optional
        Numbers of the scenario file.
    folder : Path, optional
        Working folder.
    timeout_s : float, optional
        Most time of the run [s], unlimited if None.

    Raises
    ------
    RuntimeError
        It could not start.
    subprocess.TimeoutExpired
        It does not end.
    """
    with tempfile.TemporaryDirectory() as aside:
        arguments = [str(program)]
        if scenario is not None:
            file = Path(aside) / "scenario.txt"
            file.write_text(" ".join(map(str, scenario)))
            arguments.append(str(file))
        arguments += [f"{name}={float(value)}" for name, value in options.items()]
        said = subprocess.run(
            [*arguments, *plusargs],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            cwd=folder,
        )
    if said.returncode not in (0, 1):
        raise RuntimeError(f"the harness ended with {said.returncode}: {said.stderr}")
    return {**json.loads(said.stdout), "state": said.stderr}
