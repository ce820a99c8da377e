"""A store, and the explorer that serves it from a thread of this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from fred_cli.explore.server import HOST, open_server
from fred_cli.explore.table import Source, Table
from studies.study.store import Store

from .stores import evaluated


@contextmanager
def served(store: Store) -> Iterator[str]:
    """Yield the address of an explorer."""
    with open_server(Source(store), store.path.name, 0) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store of sixteen points, of which eight failed."""
    return evaluated(tmp_path_factory.mktemp("explored"))


@pytest.fixture(scope="session")
def table(store: Store) -> Table:
    return Source(store).table()


@pytest.fixture(scope="session")
def address(store: Store) -> Iterator[str]:
    """Return the address of the explorer of the store."""
    with served(store) as found:
        yield found
