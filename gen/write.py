"""Output files: written all or none, replacing only regular files."""

import fcntl
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.progress import track

__all__ = [
    "check_file",
    "check_files",
    "check_folder",
    "check_prefix",
    "place_of",
    "write_files",
    "write_outputs",
]

_LINKS = 40  # most symbolic links in a path, as in Linux
_ASIDE = ".writing-"


@dataclass(frozen=True)
class _Target:
    """The destination of an output.

    Parameters
    ----------
    path : Path
        Path as given by the user.
    place : Path
        Its destination, after following symbolic links.
    status : os.stat_result or None
        Status of the existing file.
    descriptor : int or None
        Open file of this process that the path denotes, such as /dev/stdout and /dev/fd/3.
    """

    path: Path
    place: Path
    status: os.stat_result | None
    descriptor: int | None = None

    @property
    def is_file(self) -> bool:
        """Whether the destination is, or becomes, a regular file and so is replaced."""
        return self.descriptor is None and (
            self.status is None or stat.S_ISREG(self.status.st_mode)
        )


def check_folder(folder: Path) -> None:
    """Fail early if a folder cannot be created or written.

    Raises
    ------
    InputError
        The path or one above it is no folder, or nothing can be written there.
    """
    try:
        there = [path for path in (folder, *folder.absolute().parents) if os.path.lexists(path)]
        if not all(path.is_dir() for path in there):
            raise InputError(str(folder), "", "must be a folder, not a file")
        _status(folder)  # raises for names that are too long
        tempfile.TemporaryFile(dir=there[0]).close()
    except OSError as error:
        raise _refused_folder(folder, error) from None


def check_file(path: Path) -> None:
    """Fail early if a file cannot be written.

    Raises
    ------
    InputError
        The path is a folder or a socket, or the file or its folder cannot be written to.
    """
    check_files((path,))


def check_files(paths: Iterable[Path]) -> None:
    """Fail early if any of several files cannot be written.

    Raises
    ------
    InputError
        A path is refused by ``check_file``, or two paths are the same file.
    """
    targets = [_find(path) for path in track(list(paths), "files")]
    _refuse_twins(targets)
    folders = {
        target.place.parent if target.place != target.path.absolute() else target.path.parent: None
        for target in targets
        if target.is_file
    }
    for folder in folders:
        check_folder(folder)
    for target in targets:
        _check_access(target)


def check_prefix(prefix: str) -> None:
    """Fail early if a prefix cannot begin file names.

    Raises
    ------
    InputError
        The prefix names a folder, or files cannot be written there.
    """
    path = Path(prefix)
    if prefix.endswith(("/", "/.")) or path.name in ("", ".."):
        raise InputError(
            prefix, "", "must end with the beginning of a file name, not with a folder"
        )
    check_folder(path.parent)
    try:
        _status(path)  # raises for names that are too long
    except OSError as error:
        raise _refused_file(path, error) from None


def place_of(path: Path) -> Path:
    """Return the final destination of a path, with symbolic links followed; equal for equal files.

    Raises
    ------
    InputError
        The path is a folder or a socket, or cannot be reached.
    """
    return _find(path).place


def _refuse_twins(targets: Iterable[_Target]) -> None:
    places: set[Path] = set()
    for target in targets:
        if target.is_file and target.place in places:
            raise InputError(str(target.path), "", "must be a file that no other path names")
        places.add(target.place)


def _check_access(target: _Target) -> None:
    path = target.path
    if target.descriptor is not None:
        try:
            flags = fcntl.fcntl(target.descriptor, fcntl.F_GETFL)
        except OSError as error:
            raise _refused_file(path, error) from None
        writable = flags & os.O_ACCMODE != os.O_RDONLY
    else:
        writable = target.status is None or os.access(target.place, os.W_OK)
    if not writable:
        message = "must be a file that can be written to, not a read-only one"
        raise InputError(str(path), "", message)


def write_files(files: Mapping[str, str] | Mapping[str, str | bytes], folder: Path) -> list[Path]:
    """Write ``files`` (name to contents) to ``folder``, which is created if missing.

    Raises
    ------
    InputError
        As for ``write_outputs``.
    """
    paths = [folder / name for name in files]
    write_outputs(dict(zip(paths, files.values(), strict=True)))
    return paths


def write_outputs(files: Mapping[Path, str] | Mapping[Path, str | bytes]) -> None:
    """Write texts or bytes to paths: all of them, or none if one fails.

    A regular file is replaced at once, and keeps mode and owner; symbolic links are followed, and
    folders that are missing are made. Devices, pipes and open files (/dev/fd/3) are written to as
    they are, before any file is replaced.

    Raises
    ------
    InputError
        A folder cannot be made or written to, a path is a folder or a socket, or two paths are the
        same file.
    """
    targets = [_find(path) for path in files]
    _refuse_twins(targets)
    contents = [
        one if isinstance(one, bytes) else one.encode("utf-8", "backslashreplace")
        for one in files.values()
    ]
    with ExitStack() as undo:
        staged: list[tuple[Path, _Target]] = []
        for target, data in track(list(zip(targets, contents, strict=True)), "files"):
            if target.is_file:
                _make_folder(target, undo)
                staged.append((_stage(target, data, undo), target))
        for target, data in zip(targets, contents, strict=True):
            if not target.is_file:
                _write_through(target, data)
        _replace(staged)
        undo.pop_all()


def _find(path: Path) -> _Target:
    """Return the destination of a path.

    Raises
    ------
    InputError
        The path is a folder or a socket, or cannot be reached.
    """
    place = path
    try:
        for _ in range(_LINKS):
            parent = Path(os.path.realpath(place.parent))
            place = parent / place.name
            if str(parent) in ("/dev/fd", f"/proc/{os.getpid()}/fd") and place.name.isdigit():
                return _Target(path, place, None, int(place.name))
            if not place.is_symlink():
                break
            place = parent / place.readlink()
        status = _status(place)
    except OSError as error:
        raise _refused_file(path, error) from None
    if status and stat.S_ISDIR(status.st_mode):
        raise InputError(str(path), "", "must be a file, not a directory")
    if status and (stat.S_ISSOCK(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        raise InputError(str(path), "", "must be a file, not a socket or a link to itself")
    return _Target(path, place, status)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a path; None if nothing exists there."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _make_folder(target: _Target, undo: ExitStack) -> None:
    folder = target.place.parent
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        message = "must be a folder, not a file"
        raise InputError(str(target.path.parent), "", message) from None
    except OSError as error:
        raise _refused_folder(target.path.parent, error) from None
    for one in reversed(missing):
        undo.callback(_remove_folder, one)


def _stage(target: _Target, data: bytes, undo: ExitStack) -> Path:
    """Write the new contents next to the file they will replace."""
    aside = target.place.with_name(f"{_ASIDE}{secrets.token_hex(8)}")
    undo.callback(aside.unlink, missing_ok=True)
    try:
        number = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            if target.status:
                with suppress(OSError):  # only the owner may give a file away
                    os.fchown(number, target.status.st_uid, target.status.st_gid)
                os.fchmod(number, stat.S_IMODE(target.status.st_mode))
    except OSError as error:
        raise _refused_folder(target.path.parent, error) from None
    return aside


def _write_through(target: _Target, data: bytes) -> None:
    """Write to a destination that is not a regular file."""
    try:
        if target.descriptor is None:
            number = os.open(target.place, os.O_WRONLY)
        else:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            number = os.dup(target.descriptor)
        with os.fdopen(number, "wb") as file:
            file.write(data)
    except OSError as error:
        raise _refused_file(target.path, error) from None


def _replace(staged: Sequence[tuple[Path, _Target]]) -> None:
    """Move files to their destinations, all of them or none."""
    done: list[tuple[Path, Path | None]] = []
    try:
        for aside, target in staged:
            place, old = target.place, None
            if target.status and len(staged) > 1:
                old = place.with_name(f"{_ASIDE}{secrets.token_hex(8)}")
                _keep(place, old)
            done.append((place, old))
            aside.replace(place)
    except BaseException as error:
        for place, old in reversed(done):
            if old:
                old.replace(place)
            elif len(staged) > 1:
                with suppress(OSError):
                    place.unlink()
        if isinstance(error, OSError):
            raise _refused_folder(staged[len(done) - 1][1].path.parent, error) from None
        raise
    finally:
        for _, old in done:
            if old:
                old.unlink(missing_ok=True)


def _keep(place: Path, old: Path) -> None:
    try:
        os.link(place, old)
    except OSError:  # the file system has no hard links
        shutil.copy2(place, old)


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):  # another process writes there too
        folder.rmdir()


def _refused_folder(folder: Path, error: OSError) -> InputError:
    message = f"must be a folder that can be written to, not one with: {error.strerror}"
    return InputError(str(folder), "", message)


def _refused_file(path: Path, error: OSError) -> InputError:
    message = f"must be a file that can be written to, not one with: {error.strerror}"
    return InputError(str(path), "", message)
