"""Python interface of `fred study`."""

from pathlib import Path

from .study import run, store
from .study.engine import open_engine
from .study.plan import load_study
from .study.store import Store

__all__ = ["open_store", "run_study"]


def run_study(path: str | Path, folder: str | Path, workers: int | None = None) -> Store:
    """Estimate all points of a study file that a store lacks, and return the store.

    Parameters
    ----------
    path : str or Path
        The study file; docs/reference/studies.md has its keys.
    folder : str or Path
        The store, a folder; it is made if it is not there.
    workers : int or None
        Processes; one for each processor if None.

    Raises
    ------
    InputError
        The file or one that it names is bad, or the store cannot be written.
    """
    run.run_study(load_study(Path(path)), Path(folder), lambda: open_engine(None, workers))
    return open_store(folder)


def open_store(path: str | Path) -> Store:
    """Open the store of a study; read its rows with ``query``, ``to_pandas`` or ``to_polars``.

    Parameters
    ----------
    path : str or Path
        The folder that `fred study run` or :func:`run_study` writes.

    Raises
    ------
    InputError
        There is no store, or it has another schema version.
    """
    return store.open_store(Path(path))
