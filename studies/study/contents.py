"""Contents of input files: their values by dotted path, and the other files that they name."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fred_hw.errors import InputError
from fred_hw.reading import SUFFIXES, read_data
from perfmodel.topology.parse import said_of

__all__ = ["digest_of", "flat", "located", "named_files"]


def flat(name: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield the values in nested mappings and lists, each with its dotted path."""
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, object]", value).items():
            yield from flat(f"{name}.{key}", inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast("Sequence[object]", value)):
            yield from flat(f"{name}.{index}", inner)
    else:
        yield name, value


def named_files(data: object, folder: Path) -> Iterator[Path]:
    """Yield each file that the contents of a file name, directly or through another file, once.

    A text that names a topology, such as ``wafers:2xinner.yaml``, names the files in its contents.

    Parameters
    ----------
    data : object
        Contents of the file.
    folder : Path
        Where relative paths in ``data`` start.

    Raises
    ------
    InputError
        A named YAML or JSON file is malformed; the message names it as ``data`` does.
    """
    seen, waiting = set[Path](), [(data, folder)]
    while waiting:
        data, folder = waiting.pop()
        texts = dict.fromkeys(text for _, text in flat("", data) if isinstance(text, str))
        for text in texts:
            if text.endswith((*SUFFIXES, ".txt")) and (said := said_of(text)) is not None:
                waiting.append((said, folder))
            elif (path := _file(folder, text)) and path not in seen:
                seen.add(path)
                yield path
                if text.endswith(SUFFIXES):
                    waiting.append((_read(path, text), path.parent))


def located(folder: Path, text: str) -> Path:
    """Return the absolute path of a file, the same for all spellings of its folder.

    A link to a file is not followed, since relative paths in the file start from the folder of the
    link.
    """
    path = folder / text
    return path.parent.resolve() / path.name


def digest_of(files: Iterable[Path]) -> str:
    """Return the hash of the contents of files; one that cannot be read counts as empty.

    The evaluation of the point reads the file, and reports the error.
    """
    digest = hashlib.sha256()
    for path in files:
        try:
            data = path.read_bytes()
        except OSError:
            data = b""
        digest.update(hashlib.sha256(data).digest())
    return digest.hexdigest()


def _file(folder: Path, text: str) -> Path | None:
    """Return the path of a file; None without a file."""
    try:
        return located(folder, text) if (folder / text).is_file() else None
    except OSError:  # for example, the text is too long for a path
        return None


def _read(path: Path, text: str) -> object:
    try:
        return read_data(path)
    except InputError as error:
        raise InputError("", "", f"{text}: {error.message}") from None
