"""Version of the model, which distinguishes results of different models."""

import hashlib
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path

__all__ = ["model_version"]

_PACKAGES = ("fred_hw", "perfmodel")
_SUFFIXES = {".py", ".yaml", ".json"}


@cache
def model_version() -> str:
    """Return the version of the package and a digest of all files that an estimate depends on.

    The files are the code, the shipped workloads and the shipped timing records, so results of a
    changed model are never taken for results of the present one.
    """
    digest = hashlib.sha256()
    for package in _PACKAGES:
        root = Path(str(resources.files(package)))
        files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.*")}
        for name, path in sorted(files.items()):
            if path.suffix in _SUFFIXES:
                data = path.read_bytes()
                digest.update(f"{package}/{name} {len(data)}\n".encode() + data)
    return f"{version('fred-hw')}+{digest.hexdigest()[:12]}"
