"""``flexibo dashboard``: live pages of stored studies."""

from __future__ import annotations

import os
import webbrowser
from contextlib import suppress
from typing import Annotated

import typer

from flexibo.cli._logs import complain
from flexibo.cli._storage import STORAGE_VARIABLE, storage_url
from flexibo.cli._text import squeezed
from flexibo.errors import missing_extra
from flexibo.storage import StorageError, shown_url, stored_studies

TOKEN_VARIABLE = "FLEXIBO_DASHBOARD_TOKEN"
PORT = 8765
NICENESS = 5  # the dashboard runs at lower priority than measurements on the same machine


def dashboard(
    storages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STORAGE",
            help="Where studies are stored: sqlite:///FILE, FILE, or postgresql://USER@HOST/DATABASE. "
            f"By default {STORAGE_VARIABLE}, or the only .db file in this folder.",
            show_default=False,
        ),
    ] = None,
    storage: Annotated[
        list[str] | None,
        typer.Option(help="The same, as other commands take it; may be given several times.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; one that other machines can reach needs a token.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes any free port.")] = PORT,
    token: Annotated[
        str,
        typer.Option(
            help="The token that visitors must present. One is generated if it is needed and not given.",
            envvar=TOKEN_VARIABLE,
            show_envvar=True,
            show_default=False,
        ),
    ] = "",
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
) -> None:
    """Show stored studies live in a browser, until Ctrl-C; nothing is changed."""
    try:
        from flexibo.dashboard.server import bound_address, chosen_token, serve
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("starlette", "uvicorn", "h11", "anyio"):
            raise missing_extra("starlette and uvicorn", "dashboard") from None
        raise
    urls = _urls([*(storages or ()), *(storage or ())])
    for url in urls:
        _print_studies(url)
    address = bound_address(host, port)
    key = chosen_token(token, needed=not address.is_loopback)
    page = address.url(key)
    with suppress(OSError):
        os.nice(NICENESS)
    typer.echo(f"The dashboard is at {page}")
    typer.echo("Press Ctrl-C to stop it.")
    serve(urls, address, key, ready=lambda: _open(page) if open_page else None)
    typer.echo("\nThe dashboard has stopped.")


def _urls(given: list[str]) -> list[str]:
    """The storages; a database file may be given by its path."""
    urls = given or [storage_url(os.environ.get(STORAGE_VARIABLE, ""))]
    return list(dict.fromkeys(url if "://" in url or not os.path.isfile(url) else f"sqlite:///{url}" for url in urls))


def _print_studies(url: str) -> None:
    """Refuse what is not a storage; one that cannot be read yet is only reported."""
    try:
        number = len(stored_studies(url, patience=3.0))
    except StorageError as error:
        complain(f"flexibo: {squeezed(str(error))} The dashboard shows it once it can be read.")
    else:
        typer.echo(f"{squeezed(shown_url(url))}: {number} {'study' if number == 1 else 'studies'}")


def _open(address: str) -> None:
    """Open a browser, if there is one."""
    with suppress(Exception):
        webbrowser.open(address)
