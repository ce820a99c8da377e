"""Outputs of PeakRDL for the registers of a design: HTML, C header and UVM register model.

SystemRDL's compiler and PeakRDL are optional packages, imported where they are used.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fred_hw.errors import InputError
from fred_hw.optional import needed

__all__ = ["PEAKRDL_KINDS", "PeakRdlKind", "compile_rdl", "peakrdl_files"]


def _html(top: Any, path: Path) -> None:
    from peakrdl_html import HTMLExporter

    HTMLExporter(generate_source_links=False).export(top, str(path))


def _c(top: Any, path: Path) -> None:
    from peakrdl_cheader.exporter import CHeaderExporter

    CHeaderExporter().export(top, str(path))


def _uvm(top: Any, path: Path) -> None:
    from peakrdl_uvm import UVMExporter

    UVMExporter().export(top, str(path))


class PeakRdlKind(NamedTuple):
    """An output of PeakRDL.

    Parameters
    ----------
    package : str
        Package that writes it.
    ending : str
        End of the name of its file, or folder for HTML.
    export : callable
        Writes it, given the top node of a description and the path.
    """

    package: str
    ending: str
    export: Callable[[Any, Path], None]


PEAKRDL_KINDS = {
    "html": PeakRdlKind("peakrdl-html", "_html", _html),
    "c": PeakRdlKind("peakrdl-cheader", "_peakrdl.h", _c),
    "uvm": PeakRdlKind("peakrdl-uvm", "_ral_pkg.sv", _uvm),
}
"""Outputs of PeakRDL by name."""


def compile_rdl(file: Path) -> Any:
    """Return the top node of a SystemRDL file.

    Raises
    ------
    InputError
        The compiler is not installed or refuses the file, for example because two names clash. The
        error has the first message of the compiler.
    """
    with needed("systemrdl-compiler", "SystemRDL", "fred-hw[rdl]"):
        from systemrdl.compiler import RDLCompiler
        from systemrdl.messages import MessagePrinter, RDLCompileError, Severity

    said: list[str] = []

    class Printer(MessagePrinter):
        def print_message(self, severity: Any, text: str, src_ref: Any) -> None:
            if severity >= Severity.ERROR:
                said.append(text)

    compiler = RDLCompiler(message_printer=Printer())
    try:
        compiler.compile_file(str(file))
        return compiler.elaborate().top
    except RDLCompileError as error:
        reason = next(iter(said), str(error))
        message = f"must be SystemRDL without errors, not with: {reason}"
        raise InputError(file.name, "", message) from None


def peakrdl_files(name: str, rdl: str, kinds: Sequence[str]) -> dict[str, bytes]:
    """Return the output files of PeakRDL for a SystemRDL description.

    Parameters
    ----------
    name : str
        Name of the design, with which the names of all files begin.
    rdl : str
        SystemRDL of its registers.
    kinds : sequence of str
        Outputs, of ``PEAKRDL_KINDS``.

    Raises
    ------
    InputError
        A package is not installed, or the compiler refuses the description.
    """
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / f"{name}_registers.rdl", Path(folder) / "output"
        source.write_text(rdl, encoding="utf-8")
        output.mkdir()
        top = compile_rdl(source)
        for kind in kinds:
            one = PEAKRDL_KINDS[kind]
            with needed(one.package, f"PeakRDL output {kind}", "fred-hw[rdl]"):
                one.export(top, output / f"{name}{one.ending}")
        for path in sorted(output.rglob("*")):
            if path.is_file():
                files[str(path.relative_to(output))] = path.read_bytes()
    return files
