"""Command `fred explore`."""

import sys
import webbrowser
from pathlib import Path

import click

from fred_cli.command import Command
from fred_cli.numbers import IntegerFrom
from fred_cli.options import InputPath, as_json_option
from fred_cli.output import print_json
from fred_hw.optional import needed

__all__ = ["command"]


@click.command("explore", cls=Command, example="fred explore build/study")
@click.argument("store", metavar="STORE", type=InputPath())
@click.option(
    "--port",
    type=IntegerFrom(0, 65535),
    default=8765,
    show_default=True,
    help="Local port; 0 selects a free one.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@as_json_option
def command(store: Path, port: int, no_browser: bool, as_json: bool) -> None:
    """Show the points of a study in the browser until interrupted.

    STORE is the folder that `fred study run` writes. The page is served to this machine alone.
    """
    from studies.study.store import open_store

    with needed("bokeh", "the explorer", "fred-hw[explore]"):
        from fred_cli.explore.server import HOST, open_server
    from fred_cli.explore.table import Source

    source = Source(open_store(store))
    points = len(source.table())
    with open_server(source, store.resolve().name, port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        if as_json:
            print_json({"store": store, "points": points, "address": address})
        else:
            print(f"{points:,} points at {address}; Ctrl-C ends")
        sys.stdout.flush()  # programs that start the server wait for the address
        if not no_browser:
            webbrowser.open(address)
        server.serve_forever()
