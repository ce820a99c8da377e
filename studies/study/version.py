"""Version of the model, which distinguishes results of different versions."""

import hashlib
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path

__all__ = ["model_version", "version_of"]

_SUFFIXES = {".py", ".yaml", ".json", ".cpp", ".hpp", ".v"}
"""Of code and data, among them the C++ and Verilog of benches."""


def model_version() -> str:
    """Return the package version, and a digest of all files that an estimate depends on.

    The files are the code, the shipped workloads and the shipped timing records, so results of a
    changed model are never taken for results of the present one.
    """
    return version_of("fred_hw", "perfmodel", "tracemodel", "studies")


@cache
def version_of(*packages: str) -> str:
    """Return the version of this package, and a digest of the files in the given packages."""
    digest = hashlib.sha256()
    for package in packages:
        root = Path(str(resources.files(package)))
        files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.*")}
        for name, path in sorted(files.items()):
            if path.suffix in _SUFFIXES:
                data = path.read_bytes()
                digest.update(f"{package}/{name} {len(data)}\n".encode() + data)
    return f"{version('fred-hw')}+{digest.hexdigest()[:12]}"
