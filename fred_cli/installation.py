"""Installed and missing parts, and what each missing part would enable."""

import importlib.metadata as metadata
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Part", "parts"]

EXTRAS = {
    "sim": "co-simulation: fred sim, fred characterize, fred power",
    "synth": "area, clock: fred synth, fred characterize --liberty; power: fred power; "
    "proofs: fred formal",
    "nangate45": "cells of 45 nm by name: --liberty of fred synth, power and characterize",
    "fpga": "place and route on ECP5: fred synth --fpga ecp5 --route",
    "rdl": "outputs of PeakRDL for registers: fred gen --peakrdl",
    "report": "fred report, fred strategies --chart, fred cluster --chart, fred estimate --chart, "
    "fred reproduce --chart, fred repurpose --chart",
    "libra": "optimal bandwidths: fred libra, fred reproduce --section wires",
    "repurpose": "trained networks on several workers: fred repurpose",
    "roce": "RDMA over Ethernet with its event core compiled: fred collective --cc",
    "tables": "results as tables: perfmodel.api.to_dataframe",
    "study": "studies: fred study",
    "explore": "the page of a study: fred explore",
    "optimize": "searches of studies: fred study optimize",
    "cluster": "studies on a Dask cluster: fred study run --scheduler",
    "docs": "the documentation site: make site",
    "dev": "the tests and checks of the project",
}
"""What each optional extra of the package enables."""

_NAME = re.compile(r"[\w.-]+")
_IN_EXTRA = re.compile(r"""extra\s*==\s*["'](\w+)["']""")


@dataclass(frozen=True)
class Part:
    """A part of an installation.

    Parameters
    ----------
    name, kind : str
        Its name, and whether it is a package, a simulator or a program.
    version : str or None
        Installed version; None if it is missing, empty if it is present without a known version.
    enables : str
        Its purpose.
    install : str
        Where to get it.
    """

    name: str
    kind: str
    version: str | None
    enables: str
    install: str


def parts() -> tuple[Part, ...]:
    """Return all parts: Python, packages by purpose, simulators, programs."""
    return (
        Part("Python", "program", platform.python_version(), "everything", ""),
        *_packages(),
        *_simulators(),
        *_programs(),
    )


def _packages() -> Iterator[Part]:
    """Yield this package and its dependencies, each once, with the first package that needs it."""
    ours = "fred-hw"
    yield Part(ours, "package", _version(ours), "the command fred", "")
    seen = {ours}
    for requirement in metadata.requires(ours) or ():
        found, extra = _NAME.match(requirement), _IN_EXTRA.search(requirement)
        if found is None or found[0] in seen:
            continue
        seen.add(found[0])
        enables = EXTRAS.get(extra[1], extra[1]) if extra else "the command fred"
        wanted = f"pip install '{ours}[{extra[1]}]'" if extra else f"pip install {ours}"
        yield Part(found[0], "package", _version(found[0]), enables, wanted)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _simulators() -> Iterator[Part]:
    from testbench.sim.simulator import SIMULATORS

    for name, simulator in SIMULATORS.items():
        version = (simulator.version() or "") if simulator.find() else None
        package = re.search(r"PyPI package (\S+)", simulator.package)
        if version == "0" and package:  # no version in the program itself: use the package's
            version = _version(package[1])
        yield Part(name, "simulator", version, f"fred sim --sim {name}", simulator.package)


def _programs() -> Iterator[Part]:
    """Yield programs that Python packages do not include."""
    from testbench.sim.tools import COMPILERS

    compiler = os.environ.get("CXX") or next(filter(shutil.which, COMPILERS), COMPILERS[0])
    for name, option, enables, package in (
        (compiler, "--version", "models of Verilator, and volume tests", "clang-19 or g++"),
        ("make", "--version", "models of Verilator, and the targets of the Makefile", "make"),
        ("sta", "-version", "worst paths and sizes of cells: fred synth", "opensta"),
        ("gtkwave", "--version", "looking at the waves of fred sim --waves", "gtkwave"),
        ("chromium", "--version", "the tests of the report in a browser", "chromium"),
    ):
        yield Part(name, "program", _said(name, option), enables, f"Debian's package {package}")


def _said(program: str, option: str) -> str | None:
    """Return the version in a program's output; None if it is not installed."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        said = subprocess.run(
            [path, option],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=10,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+\.[\w.]+", said.stdout + said.stderr)
    return found[0] if found else ""
