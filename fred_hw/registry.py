"""Registries: named entries of one kind, each added by the module that defines it."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules
from threading import RLock
from typing import TypeVar

__all__ = ["Registry"]

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry]):
    """Named entries, added by the modules of a package on import.

    The first lookup imports every module of the package, so a lookup always sees all entries. A
    new entry is therefore one new file in the package, and no second list names it.

    Parameters
    ----------
    package : str
        Full name of the package whose modules add entries.
    kind : str
        Name of an entry, for error messages.
    """

    def __init__(self, package: str, kind: str) -> None:
        self.package = package
        self.kind = kind
        self._entries: dict[str, tuple[float, Entry]] = {}
        self._modules: dict[str, str] = {}
        self._found = self._finding = False
        self._lock = RLock()

    def add(self, name: str, entry: Entry, *, rank: float = float("inf")) -> Entry:
        """Add an entry and return it.

        Parameters
        ----------
        name : str
            Name for users.
        entry : Entry
            The entry.
        rank : float
            Rank in lists: lower ranks come first, equal ranks are sorted by name.

        Raises
        ------
        ValueError
            The name exists already.
        """
        if name in self._entries:
            raise ValueError(f"name of the {self.kind} must be new, not {name!r}")
        self._entries[name] = (rank, entry)
        self._modules[name] = sys._getframe(1).f_globals["__name__"]
        return entry

    def module(self, name: str) -> str:
        """Return the full name of the module that added an entry."""
        self._find()
        return self._modules[name]

    @contextmanager
    def lending(self, name: str, entry: Entry) -> Iterator[Entry]:
        """Add a temporary last entry for the duration of the context."""
        self._find()
        self.add(name, entry)
        try:
            yield entry
        finally:
            del self._entries[name], self._modules[name]

    def _find(self) -> dict[str, tuple[float, Entry]]:
        """Return the entries of all modules of the package, in order.

        While the modules are imported, they see the entries there are; other threads wait. If one
        cannot be imported, the next lookup imports again.
        """
        if not self._found:
            with self._lock:
                if not (self._found or self._finding):
                    self._finding = True
                    try:
                        self._import()
                    finally:
                        self._finding = False
        return self._entries

    def _import(self) -> None:
        """Import every module of the package, and sort the entries.

        A module that cannot be imported leaves no entry, so that it may add it later.
        """
        try:
            for module in iter_modules(import_module(self.package).__path__):
                import_module(f"{self.package}.{module.name}")
        except BaseException:
            for name in [
                name for name, module in self._modules.items() if module not in sys.modules
            ]:
                del self._entries[name], self._modules[name]
            raise
        order = sorted(self._entries.items(), key=lambda item: (item[1][0], item[0]))
        self._entries = dict(order)
        self._found = True

    def __getitem__(self, name: str) -> Entry:
        return self._find()[name][1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._find())

    def __len__(self) -> int:
        return len(self._find())
