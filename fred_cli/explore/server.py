"""The server of the explorer: accepts local connections only, and serves only the store."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fred_hw.errors import InputError

from .details import detail
from .look import Look
from .page import BOKEH, csv_of, page, points_update, script, style, update
from .table import Source, Table
from .view import View, default_view, read_view

__all__ = ["HOST", "open_server"]

HOST = "127.0.0.1"

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FILE = re.compile(r"/point/([0-9a-f]{1,64})/(\w+)\.yaml")


@dataclass(frozen=True)
class _Answer:
    """What a request gets.

    Parameters
    ----------
    kind : str
        Media type.
    body : bytes
        Contents.
    status : HTTPStatus
        Whether the request was answered.
    name : str
        Name of the file to save; empty for what is shown.
    kept : bool
        Whether the browser may keep it.
    """

    kind: str
    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    name: str = ""
    kept: bool = False


class _Server(ThreadingHTTPServer):
    """Server for local connections; its port is never shared with another process."""

    source: Source
    title: str


def open_server(source: Source, title: str, port: int) -> _Server:
    """Return the server of a store, which listens but does not answer yet.

    Parameters
    ----------
    source : Source
        The store.
    title : str
        Its name on the page.
    port : int
        Port of this machine; 0 for any that is free.

    Raises
    ------
    InputError
        The port is in use.
    """
    table = source.table()
    update(table, default_view(table), Look())  # whatever takes long once, before the page waits
    try:
        server = _Server((HOST, port), _Handler)
    except OSError as error:
        message = f"must be a free port, not {port} ({error.strerror})"
        raise InputError("--port", "", message) from None
    server.source, server.title = source, title
    return server


class _Handler(BaseHTTPRequestHandler):
    """Handler of one connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "fred", ""
    timeout = 60

    def do_GET(self) -> None:
        try:
            answer = self._answer()
        except InputError as error:
            answer = _as_json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        try:
            self._send(answer)
        except (BrokenPipeError, ConnectionResetError):  # the browser went away
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the browser shows errors."""

    def _answer(self) -> _Answer:
        if not self._is_local():
            return _Answer("text/plain", b"forbidden\n", HTTPStatus.FORBIDDEN)
        address = urlsplit(self.path)
        if found := _FILE.fullmatch(address.path):
            return self._file(*found.groups())
        if (answer := _ROUTES.get(address.path)) is None:
            return _Answer("text/plain", b"not found\n", HTTPStatus.NOT_FOUND)
        return answer(self._own, address.query)

    @property
    def _own(self) -> _Server:
        assert isinstance(self.server, _Server)
        return self.server

    def _is_local(self) -> bool:
        """Return whether the request names this server as its host and comes from its own page.

        A page of another site whose name has been pointed at this machine names that site.
        """
        port = self._own.server_port
        hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        origins = {None, *(f"http://{host}" for host in hosts)}
        return self.headers.get("Host") in hosts and self.headers.get("Origin") in origins

    def _file(self, key: str, name: str) -> _Answer:
        made = detail(self._own.source.table(), key).reproduction
        text = made.files.get(f"{name}.yaml") if made else None
        if text is None:
            return _Answer("text/plain", b"not found\n", HTTPStatus.NOT_FOUND)
        return _Answer("application/yaml", text.encode(), name=f"{name}.yaml")

    def _send(self, answer: _Answer) -> None:
        body = answer.body
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{answer.kind}; charset=utf-8")
        self.send_header("Cache-Control", "max-age=31536000" if answer.kept else "no-store")
        if answer.name:
            self.send_header("Content-Disposition", f'attachment; filename="{answer.name}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _as_json(value: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> _Answer:
    return _Answer("application/json", json.dumps(value, separators=(",", ":")).encode(), status)


def _page(server: _Server, _query: str) -> _Answer:
    return _Answer("text/html", page(server.title).encode())


def _view(server: _Server, query: str) -> _Answer:
    view, table = _asked(server, query)
    return _as_json(update(table, view, _look(query)))


def _points(server: _Server, query: str) -> _Answer:
    view, table = _asked(server, query)
    return _as_json(points_update(table, view, _look(query)))


def _csv(server: _Server, query: str) -> _Answer:
    view, table = _asked(server, query)
    return _Answer("text/csv", csv_of(table, view).encode(), name="points.csv")


def _asked(server: _Server, query: str) -> tuple[View, Table]:
    """Return the view that a query holds beside the look, and the table."""
    table = server.source.table()
    rest = "&".join(one for one in query.split("&") if one.partition("=")[0] not in _LOOK)
    return read_view(rest, table), table


_LOOK = tuple(one.name for one in fields(Look))


def _look(query: str) -> Look:
    given = parse_qs(query)
    return Look(**{name: given.get(name) == ["1"] for name in _LOOK})


def _bokeh(_server: _Server, _query: str) -> _Answer:
    path = files("bokeh") / "server/static/js/bokeh.min.js"
    return _Answer("text/javascript", path.read_bytes(), kept=True)


_ROUTES: dict[str, Callable[[_Server, str], _Answer]] = {
    "/": _page,
    "/view": _view,
    "/points": _points,
    "/points.csv": _csv,
    "/explore.js": lambda *_: _Answer("text/javascript", script().encode()),
    "/explore.css": lambda *_: _Answer("text/css", style().encode()),
    BOKEH: _bokeh,
}
